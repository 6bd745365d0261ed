// Random claims, volumes and drivers: see objects.hpp. What Kubernetes does not let change does not change.
#include <fmt/format.h>

#include "random/objects.hpp"

namespace koord::scheduler::test {

namespace {

constexpr int kClaims = 5, kVolumes = 10, kClasses = 5;
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
    claim->spec.access_modes = {chance(25) ? "ReadWriteOncePod" : "ReadWriteOnce"};
    if (chance(95)) claim->spec.storage_class_name = class_name();
  }
  // Who has a volume keeps it.
  if (claim->spec.volume_name.empty() && chance(50)) claim->spec.volume_name = volume_name();
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
  }
  volume->metadata.labels = {};
  static constexpr const char* kZones[] = {"a", "b", "c", "a__b", "b__c__a", "a__", "us-west1-a__us-west1-b"};
  if (chance(35)) volume->metadata.labels[one_of(kOldLabels)] = one_of(kZones);
  if (chance(10)) volume->metadata.labels["failure-domain.beta.kubernetes.io/region"] = "r";
  return volume;
}

std::shared_ptr<const api::StorageClass> RandomObjects::storage_class(const api::StorageClass* known) {
  auto made = copy_or_make(known);
  if (known != nullptr) return made;
  static constexpr const char* kProvisioners[] = {"ebs.csi.aws.com", "disks.example.com",
                                                  "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd"};
  made->metadata.name = class_name();
  made->provisioner = one_of(kProvisioners);
  if (chance(95)) made->volume_binding_mode = chance(75) ? "WaitForFirstConsumer" : "Immediate";
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

}  // namespace koord::scheduler::test
