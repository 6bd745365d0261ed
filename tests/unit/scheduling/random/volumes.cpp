// Random claims, volumes and drivers: see objects.hpp. What Kubernetes does not let change does not change.
#include <fmt/format.h>

#include "random/objects.hpp"

namespace koord::scheduling::test {

namespace {

constexpr int kClaims = 5, kVolumes = 14, kClasses = 4;
constexpr const char* kCounting = "disks.example.com";
constexpr const char* kSizes[] = {"1Gi", "5Gi", "5Gi", "10Gi", "20Gi"};
constexpr const char *kBindCompleted = "pv.kubernetes.io/bind-completed",
                     *kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr const char* kDrivers[] = {"ebs.csi.aws.com", "ebs.csi.aws.com", "disks.example.com"};
constexpr const char* kOldLabels[] = {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone",
                                      "topology.kubernetes.io/zone"};

/// A copy, or a new one.
template <class T>
std::shared_ptr<T> copy_or_make(const T* known) {
  return known != nullptr ? std::make_shared<T>(*known) : std::make_shared<T>();
}

}  // namespace

void RandomObjects::node_topology(api::Node& node) {
  api::SymbolMap& labels = node.metadata.labels;
  const Symbol* zone = labels.find("topology.kubernetes.io/zone");
  if (zone != nullptr && chance(20)) labels["failure-domain.beta.kubernetes.io/zone"] = *zone;
  if (chance(20)) labels["topology.kubernetes.io/region"] = chance(80) ? "r" : "s";
}

std::string RandomObjects::claim_name() { return fmt::format("c{}", below(kClaims)); }
std::vector<std::string> RandomObjects::claim_names() {
  std::vector<std::string> all;
  for (int i = 0; i < kClaims; ++i) all.push_back(fmt::format("c{}", i));
  return all;
}
std::string RandomObjects::volume_name() { return fmt::format("v{}", below(kVolumes)); }
std::string RandomObjects::class_name() { return fmt::format("class-{}", below(kClasses)); }

/// Disks of its own, claims, and rarely a claim that is made for it.
void RandomObjects::volumes(api::Pod& pod) {
  for (int i = 1 + below(2); i > 0; --i) {
    api::Volume& v = pod.spec.volumes.emplace_back();
    v.name = fmt::format("volume-{}", i);
    const int what = below(20);
    if (what == 0) {
      v.ephemeral.ensure();
    } else if (what < 4) {
      v.gce_persistent_disk.ensure().pd_name = fmt::format("disk-{}", below(3));
      v.gce_persistent_disk->read_only = chance(60);
    } else if (what < 6) {
      v.aws_elastic_block_store.ensure().volume_id = fmt::format("vol-{}", below(4));
    } else if (what == 6) {
      v.iscsi.ensure().iqn = fmt::format("iqn.{}", below(2));
      v.iscsi->read_only = chance(60);
    } else if (what == 7) {
      v.rbd.ensure().image = "image";
      v.rbd->monitors = {chance(50) ? "a" : "b", "c"};
      if (chance(50)) v.rbd->monitors.pop_back();
      v.rbd->read_only = chance(40);
    } else {
      v.persistent_volume_claim.ensure().claim_name = chance(97) ? claim_name() : "no-such-claim";
    }
  }
}

std::shared_ptr<const api::PersistentVolumeClaim> RandomObjects::claim(
    std::string_view ns, std::string name, const api::PersistentVolumeClaim* known) {
  auto claim = copy_or_make(known);
  if (known == nullptr) {
    claim->metadata.namespace_ = ns;
    claim->metadata.name = std::move(name);
    claim->metadata.uid = fmt::format("uid-claim-{}", random_());
    static constexpr const char* kModes[] = {"ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod",
                                             "ReadWriteMany"};
    claim->spec.access_modes = {one_of(kModes)};
    if (chance(95)) claim->spec.storage_class_name = class_name();
    if (chance(90)) claim->spec.resources.requests["storage"] = api::Quantity::must(one_of(kSizes));
    if (chance(10)) claim->spec.volume_mode = chance(50) ? "Block" : "Filesystem";
    if (chance(10)) claim->spec.selector.ensure().match_labels["tier"] = "fast";
    if (chance(8)) claim->spec.volume_attributes_class_name = "gold";
  }
  api::SymbolMap& annotations = claim->metadata.annotations;
  if (claim->spec.volume_name.empty() && chance(12)) {
    // Whoever binds volumes is through with it, or somebody asks for this volume.
    claim->spec.volume_name = volume_name();
    if (chance(80)) {
      annotations[kBindCompleted] = "yes";
      claim->status.phase = "Bound";
    }
  } else if (claim->spec.volume_name.empty() && chance(15)) {
    // A volume is to be made for a node; or nobody can make it there.
    if (annotations.contains(kSelectedNode))
      annotations.erase(kSelectedNode);
    else if (chance(40))
      annotations[kSelectedNode] = node_name();
  }
  if (chance(3)) claim->status.phase = claim->status.phase == "Lost" ? "Bound" : "Lost";
  if (chance(3)) claim->metadata.deletion_timestamp.emplace();
  if (chance(20)) claim->metadata.labels["touched"] = fmt::format("{}", below(3));
  return claim;
}

std::shared_ptr<const api::PersistentVolume> RandomObjects::volume(const api::PersistentVolume* known) {
  auto volume = copy_or_make(known);
  if (known == nullptr) {
    volume->metadata.name = volume_name();
    const int what = below(10);
    if (what < 6) {
      volume->spec.csi.ensure().driver = one_of(kDrivers);
      volume->spec.csi->volume_handle = fmt::format("vol-{}", below(6));
    } else if (what == 6) {
      volume->spec.aws_elastic_block_store.ensure().volume_id = fmt::format("vol-{}", below(4));
    } else if (what == 7) {
      volume->spec.gce_persistent_disk.ensure().pd_name = fmt::format("disk-{}", below(3));
    } else {
      volume->spec.host_path.ensure().path = "/mnt";
    }
    binding_of(*volume);
  }
  volume->metadata.labels = {};
  static constexpr const char* kZones[] = {"a", "b", "c", "a__b", "b__c__a", "a__", "us-west1-a__us-west1-b"};
  if (chance(25)) volume->metadata.labels[one_of(kOldLabels)] = one_of(kZones);
  if (chance(10)) volume->metadata.labels["failure-domain.beta.kubernetes.io/region"] = "r";
  if (chance(30)) volume->metadata.labels["tier"] = "fast";
  // Somebody keeps it for a claim, or whoever had it is gone.
  if (!volume->spec.claim_ref && chance(8)) {
    volume->spec.claim_ref.ensure().namespace_ = namespace_();
    volume->spec.claim_ref->name = claim_name();
  } else if (volume->spec.claim_ref && chance(40)) {
    volume->spec.claim_ref = {};
    volume->status.phase = "Available";
  }
  if (chance(3)) volume->metadata.deletion_timestamp.emplace();
  return volume;
}

/// What VolumeBinding reads of a volume.
void RandomObjects::binding_of(api::PersistentVolume& volume) {
  static constexpr const char* kModes[][2] = {{"ReadWriteOnce", "ReadWriteOncePod"},
                                              {"ReadWriteOnce", "ReadWriteMany"},
                                              {"ReadWriteOncePod", "ReadWriteMany"}};
  volume.spec.capacity["storage"] = api::Quantity::must(one_of(kSizes));
  const auto& modes = one_of(kModes);
  volume.spec.access_modes = {modes[0], modes[1]};
  volume.spec.storage_class_name = class_name();
  if (chance(8)) volume.spec.volume_mode = "Block";
  if (chance(8)) volume.spec.volume_attributes_class_name = "gold";
  volume.status.phase = chance(90) ? "Available" : "Pending";
  if (chance(40)) return;
  auto& terms = volume.spec.node_affinity.ensure().required.ensure().node_selector_terms;
  for (int i = chance(85) ? 1 : 2; i > 0; --i) {
    auto& wants = terms.emplace_back().match_expressions;
    if (chance(50))
      wants.push_back({"kubernetes.io/hostname", "In", {node_name(), node_name(), node_name()}});
    else if (chance(70))
      wants.push_back({"topology.kubernetes.io/zone", "In", {chance(50) ? "a" : "b"}});
    else
      wants.push_back(requirement());
    if (chance(15)) wants.push_back(requirement());
  }
}

std::shared_ptr<const api::StorageClass> RandomObjects::storage_class(const api::StorageClass* known) {
  auto made = copy_or_make(known);
  if (known == nullptr) {
    static constexpr const char* kProvisioners[] = {"ebs.csi.aws.com",
                                                    "disks.example.com",
                                                    "disks.example.com",
                                                    "kubernetes.io/aws-ebs",
                                                    "kubernetes.io/gce-pd",
                                                    "kubernetes.io/no-provisioner",
                                                    "kubernetes.io/no-provisioner"};
    made->metadata.name = class_name();
    made->provisioner = one_of(kProvisioners);
    if (chance(95)) made->volume_binding_mode = chance(85) ? "WaitForFirstConsumer" : "Immediate";
  }
  if (!chance(30)) return made;
  made->allowed_topologies = {};
  for (int i = below(3); i > 0; --i)
    made->allowed_topologies.emplace_back().match_label_expressions.push_back(
        {"topology.kubernetes.io/zone", {chance(50) ? "a" : "b", "c"}});
  return made;
}

/// How much a driver has somewhere; where, and of which class, does not change.
std::shared_ptr<const api::CsiStorageCapacity> RandomObjects::capacity(const api::CsiStorageCapacity* known) {
  auto made = copy_or_make(known);
  if (known == nullptr) {
    made->metadata.namespace_ = "default";
    made->metadata.name = fmt::format("pool-{}", below(8));
    made->storage_class_name = class_name();
    if (chance(95)) {
      api::LabelSelector& where = made->node_topology.ensure();
      if (chance(80)) where.match_labels["topology.kubernetes.io/zone"] = chance(50) ? "a" : "b";
    }
  }
  made->capacity.reset();
  made->maximum_volume_size.reset();
  if (chance(90)) made->capacity = api::Quantity::must(one_of(kSizes));
  if (chance(30)) made->maximum_volume_size = api::Quantity::must(one_of(kSizes));
  return made;
}

/// The one that counts what it has.
std::shared_ptr<const api::CsiDriver> RandomObjects::driver() {
  auto made = std::make_shared<api::CsiDriver>();
  made->metadata.name = kCounting;
  made->spec.storage_capacity = true;
  return made;
}

/// Of what a driver takes more or less from one time to the next.
std::shared_ptr<const api::CsiNode> RandomObjects::csi_node(std::string_view node) {
  auto made = std::make_shared<api::CsiNode>();
  made->metadata.name = node;
  for (const char* driver : {"ebs.csi.aws.com", "pd.csi.storage.gke.io", "disks.example.com"}) {
    if (chance(25)) continue;
    api::CsiNodeDriver& d = made->spec.drivers.emplace_back();
    d.name = driver;
    if (chance(80)) d.allocatable.ensure().count = below(4);
  }
  return made;
}

std::shared_ptr<const api::VolumeAttachment> RandomObjects::attachment() {
  auto made = std::make_shared<api::VolumeAttachment>();
  made->metadata.name = fmt::format("attachment-{}", below(3 * nodes_));
  made->spec.attacher = one_of(kDrivers);
  made->spec.node_name = node_name();
  made->spec.source.persistent_volume_name = volume_name();
  return made;
}

}  // namespace koord::scheduling::test
