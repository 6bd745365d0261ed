// VolumeRestrictions, NodeVolumeLimits and VolumeZone: see volumes.hpp.
#include "support/reference/volumes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::reference {

namespace {

using api::Volume;

std::string claim_key(const api::Pod& pod, const std::string& claim) {
  return fmt::format("{}/{}", pod.metadata.namespace_.view(), claim);
}

template <class T>
const T* find(const ByKey<T>& all, const std::string& key) {
  const auto it = all.find(key);
  return it == all.end() ? nullptr : it->second.get();
}

bool share_a_monitor(const api::RbdVolumeSource& a, const api::RbdVolumeSource& b) {
  for (const std::string& x : a.monitors)
    for (const std::string& y : b.monitors)
      if (x == y) return true;
  return false;
}

bool conflict(const Volume& a, const Volume& b) {
  if (const auto &x = a.gce_persistent_disk, &y = b.gce_persistent_disk;
      x && y && x->pd_name == y->pd_name && !(x->read_only && y->read_only))
    return true;
  if (const auto &x = a.aws_elastic_block_store, &y = b.aws_elastic_block_store;
      x && y && x->volume_id == y->volume_id)
    return true;
  if (const auto &x = a.iscsi, &y = b.iscsi; x && y && x->iqn == y->iqn && !(x->read_only && y->read_only))
    return true;
  const auto &x = a.rbd, &y = b.rbd;
  return x && y && share_a_monitor(*x, *y) && x->pool == y->pool && x->image == y->image &&
         !(x->read_only && y->read_only);
}

bool is_disk(const Volume& v) {
  return v.gce_persistent_disk || v.aws_elastic_block_store || v.iscsi || v.rbd;
}

bool has_claim(const api::Pod& pod, const std::string& name) {
  return std::any_of(pod.spec.volumes.begin(), pod.spec.volumes.end(), [&](const Volume& v) {
    return v.persistent_volume_claim && v.persistent_volume_claim->claim_name == name;
  });
}

std::string class_of(const api::PersistentVolumeClaim& claim) {
  if (const Symbol* old = claim.metadata.annotations.find("volume.beta.kubernetes.io/storage-class"))
    return old->str();
  return claim.spec.storage_class_name ? claim.spec.storage_class_name->str() : "";
}

/// Of what the random worlds have.
std::string driver_of_provisioner(const std::string& provisioner) {
  if (provisioner == "kubernetes.io/aws-ebs") return "ebs.csi.aws.com";
  if (provisioner == "kubernetes.io/gce-pd") return "pd.csi.storage.gke.io";
  return provisioner;
}

std::string label(const api::SymbolMap& labels, const std::string& key) {
  const Symbol* value = labels.find(key);
  return value == nullptr ? "" : value->str();
}

std::vector<std::string> parts(const std::string& text, const std::string& by) {
  std::vector<std::string> out;
  std::size_t from = 0;
  for (std::size_t at; (at = text.find(by, from)) != std::string::npos; from = at + by.size())
    out.push_back(text.substr(from, at - from));
  out.push_back(text.substr(from));
  return out;
}

/// Zones of one region: "us-west1-a__us-west1-b".
std::string disk_of(const api::PersistentVolume& volume) {
  std::string zones = label(volume.metadata.labels, "failure-domain.beta.kubernetes.io/zone");
  if (zones.empty()) zones = label(volume.metadata.labels, "topology.kubernetes.io/zone");
  const std::string& name = volume.spec.gce_persistent_disk->pd_name;
  const auto all = parts(zones, "__");
  if (all.size() == 1)
    return fmt::format("projects/UNSPECIFIED/zones/{}/disks/{}", zones.empty() ? "UNSPECIFIED" : zones, name);
  std::set<std::string> regions;
  for (const std::string& zone : all) {
    const auto words = parts(zone, "-");
    if (words.size() != 3) return "";
    regions.insert(fmt::format("{}-{}", words[0], words[1]));
  }
  if (regions.size() != 1) return "";
  return fmt::format("projects/UNSPECIFIED/regions/{}/disks/{}", *regions.begin(), name);
}

}  // namespace

VolumeFilters::VolumeFilters(const Cluster& cluster, const api::Pod& pod, const State& state)
    : cluster_(cluster), pod_(pod) {
  for (const NodeState& node : state)
    for (const Counted& other : node.pods) count(*other.pod, 1);
  restricted_ =
      !claim_users_.empty() || std::any_of(pod.spec.volumes.begin(), pod.spec.volumes.end(), is_disk);
}

bool VolumeFilters::knows(const std::string& plugin) {
  return plugin == "VolumeRestrictions" || plugin == "NodeVolumeLimits" || plugin == "VolumeZone";
}

std::string VolumeFilters::rejected(const std::string& plugin) const {
  if (plugin == "VolumeZone") return zone_rejected();
  if (plugin != "VolumeRestrictions") return "";
  for (const Volume& v : pod_.spec.volumes)
    if (v.persistent_volume_claim &&
        find(cluster_.claims, claim_key(pod_, v.persistent_volume_claim->claim_name)) == nullptr)
      return fmt::format("persistentvolumeclaim \"{}\" not found", v.persistent_volume_claim->claim_name);
  return "";
}

void VolumeFilters::count(const api::Pod& other, int change) {
  if (other.metadata.namespace_ != pod_.metadata.namespace_) return;
  for (const Volume& v : pod_.spec.volumes) {
    if (!v.persistent_volume_claim) continue;
    const std::string& name = v.persistent_volume_claim->claim_name;
    const auto* claim = find(cluster_.claims, claim_key(pod_, name));
    if (claim == nullptr || !has_claim(other, name)) continue;
    for (const Symbol& mode : claim->spec.access_modes) {
      if (mode != "ReadWriteOncePod") continue;
      if (change > 0)
        claim_users_.insert(&other);
      else
        claim_users_.erase(&other);
    }
  }
}

Filtered VolumeFilters::filter(const std::string& plugin, const NodeState& node) const {
  if (plugin == "VolumeRestrictions") return restrictions(node);
  return plugin == "NodeVolumeLimits" ? limits(node) : zone(*node.node);
}

Filtered VolumeFilters::restrictions(const NodeState& node) const {
  if (!restricted_) return std::nullopt;
  for (const Volume& own : pod_.spec.volumes)
    for (const Counted& other : node.pods)
      for (const Volume& theirs : other.pod->spec.volumes)
        if (conflict(own, theirs))
          return Rejection{"VolumeRestrictions", false, {"node(s) had no available disk"}};
  if (claim_users_.empty()) return std::nullopt;
  return Rejection{"VolumeRestrictions",
                   false,
                   {"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
                    "already in-use by another pod"}};
}

std::optional<std::pair<std::string, std::string>> VolumeFilters::attached(
    const api::PersistentVolumeClaim& claim, const api::CsiNode* csi) const {
  if (const auto* volume = find(cluster_.volumes, claim.spec.volume_name.str())) {
    if (volume->spec.csi) return std::pair(volume->spec.csi->driver.str(), volume->spec.csi->volume_handle);
    if (csi == nullptr) return std::nullopt;
    if (volume->spec.aws_elastic_block_store)
      return std::pair("ebs.csi.aws.com", volume->spec.aws_elastic_block_store->volume_id);
    if (volume->spec.gce_persistent_disk && !disk_of(*volume).empty())
      return std::pair("pd.csi.storage.gke.io", disk_of(*volume));
    return std::nullopt;
  }
  const auto* storage_class = find(cluster_.classes, class_of(claim));
  if (storage_class == nullptr) return std::nullopt;
  const std::string provisioner = storage_class->provisioner.str(),
                    driver = driver_of_provisioner(provisioner);
  if (driver != provisioner && csi == nullptr) return std::nullopt;
  return std::pair(driver,
                   fmt::format("unbound {}/{}", claim.metadata.namespace_.view(), claim.metadata.name));
}

bool VolumeFilters::attach(const api::Pod& pod, const api::CsiNode* csi, Attached& out,
                           std::string* missing) const {
  for (const Volume& v : pod.spec.volumes) {
    std::optional<std::pair<std::string, std::string>> found;
    if (v.persistent_volume_claim || v.ephemeral) {
      const std::string name = v.ephemeral ? fmt::format("{}-{}", pod.metadata.name, v.name.view())
                                           : v.persistent_volume_claim->claim_name;
      const auto* claim = find(cluster_.claims, claim_key(pod, name));
      if (claim == nullptr && missing != nullptr) {
        *missing = fmt::format("looking up PVC {}: persistentvolumeclaim \"{}\" not found",
                               claim_key(pod, name), name);
        return false;
      }
      if (claim != nullptr) found = attached(*claim, csi);
    } else if (csi != nullptr && v.aws_elastic_block_store) {
      found = {"ebs.csi.aws.com", v.aws_elastic_block_store->volume_id};
    } else if (csi != nullptr && v.gce_persistent_disk) {
      found = {"pd.csi.storage.gke.io", fmt::format("projects/UNSPECIFIED/zones/UNSPECIFIED/disks/{}",
                                                    v.gce_persistent_disk->pd_name)};
    }
    if (found) out[fmt::format("{}/{}", found->first, found->second)] = found->first;
  }
  return true;
}

Filtered VolumeFilters::limits(const NodeState& node) const {
  const auto* csi = find(cluster_.csi_nodes, node.node->metadata.name);
  Attached own, there;
  std::string missing;
  if (!attach(pod_, csi, own, &missing)) return Rejection{"NodeVolumeLimits", true, {missing}};
  if (csi == nullptr) return std::nullopt;
  for (const Counted& other : node.pods) attach(*other.pod, csi, there, nullptr);
  std::map<std::string, int> more, has;
  for (const auto& [name, driver] : own) more[driver] += there.contains(name) ? 0 : 1;
  for (const auto& [key, a] : cluster_.attachments) {
    if (a->spec.node_name != node.node->metadata.name || !a->spec.source.persistent_volume_name) continue;
    const auto* volume = find(cluster_.volumes, *a->spec.source.persistent_volume_name);
    if (volume == nullptr || !volume->spec.csi) continue;
    there[fmt::format("{}/{}", a->spec.attacher.view(), volume->spec.csi->volume_handle)] =
        a->spec.attacher.str();
  }
  for (const auto& [name, driver] : there) ++has[driver];
  for (const auto& d : csi->spec.drivers)
    if (const int new_ones = more[d.name.str()]; d.allocatable && d.allocatable->count && new_ones > 0 &&
                                                 has[d.name.str()] + new_ones > *d.allocatable->count)
      return Rejection{"NodeVolumeLimits", false, {"node(s) exceed max volume count"}};
  return std::nullopt;
}

std::string VolumeFilters::zone_rejected() const {
  for (const Volume& v : pod_.spec.volumes) {
    if (!v.persistent_volume_claim) continue;
    const std::string& name = v.persistent_volume_claim->claim_name;
    const auto* claim = find(cluster_.claims, claim_key(pod_, name));
    if (claim == nullptr) return fmt::format("persistentvolumeclaim \"{}\" not found", name);
    if (const std::string volume = claim->spec.volume_name.str(); !volume.empty()) {
      if (find(cluster_.volumes, volume) != nullptr) continue;
      return fmt::format("persistentvolume \"{}\" not found", volume);
    }
    const std::string storage_class = class_of(*claim);
    if (storage_class.empty()) return "PersistentVolumeClaim had no pv name and storageClass name";
    const auto* of = find(cluster_.classes, storage_class);
    if (of == nullptr) return fmt::format("storageclass.storage.k8s.io \"{}\" not found", storage_class);
    if (!of->volume_binding_mode)
      return fmt::format("VolumeBindingMode not set for StorageClass \"{}\"", storage_class);
    if (*of->volume_binding_mode != "WaitForFirstConsumer") return "PersistentVolume had no name";
  }
  return "";
}

Filtered VolumeFilters::zone(const api::Node& node) const {
  const std::string old_zone = "failure-domain.beta.kubernetes.io/zone", zone = "topology.kubernetes.io/zone",
                    old_region = "failure-domain.beta.kubernetes.io/region",
                    region = "topology.kubernetes.io/region";
  const api::SymbolMap& has = node.metadata.labels;
  if (!has.contains(old_zone) && !has.contains(zone) && !has.contains(old_region) && !has.contains(region))
    return std::nullopt;
  for (const Volume& v : pod_.spec.volumes) {
    if (!v.persistent_volume_claim) continue;
    const auto& claim = cluster_.claims.at(claim_key(pod_, v.persistent_volume_claim->claim_name));
    const auto* volume = find(cluster_.volumes, claim->spec.volume_name.str());
    if (volume == nullptr) continue;
    for (const auto& [key, newer] : {std::pair(old_zone, zone), std::pair(old_region, region),
                                     std::pair(zone, zone), std::pair(region, region)}) {
      if (!volume->metadata.labels.contains(key)) continue;
      const auto values = parts(label(volume->metadata.labels, key), "__");
      if (std::find(values.begin(), values.end(), "") != values.end()) continue;
      const std::string& compared = has.contains(key) ? key : newer;
      if (!has.contains(compared) ||
          std::find(values.begin(), values.end(), label(has, compared)) == values.end())
        return Rejection{"VolumeZone", true, {"node(s) had no available volume zone"}};
    }
  }
  return std::nullopt;
}

}  // namespace koord::reference
