// CSI migration: see csi_migration.hpp.
#include "scheduling/volumes/csi_migration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "koord/api/types/storage_v1/csi_node.hpp"

namespace koord::scheduling::volumes {

namespace {

using enum InTreePlugin::Migrated;

constexpr std::size_t kAwsEbs = 0, kGcePd = 1, kAzureDisk = 2, kCinder = 3, kPortworx = 4, kAzureFile = 5,
                      kVsphere = 6;
constexpr std::array<InTreePlugin, 7> kPlugins = {{
    {"kubernetes.io/aws-ebs", "ebs.csi.aws.com", always, "topology.ebs.csi.aws.com/zone"},
    {"kubernetes.io/gce-pd", "pd.csi.storage.gke.io", always, "topology.gke.io/zone"},
    {"kubernetes.io/azure-disk", "disk.csi.azure.com", always},
    {"kubernetes.io/cinder", "cinder.csi.openstack.org", always, "topology.cinder.csi.openstack.org/zone"},
    {"kubernetes.io/portworx-volume", "pxd.portworx.com", listed},
    {"kubernetes.io/azure-file", "file.csi.azure.com", never},
    {"kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", never},
}};

Error unclear(std::string message) { return Error(Code::invalid, std::move(message)); }

std::vector<std::string_view> split(std::string_view text, std::string_view by) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; (at = text.find(by)) != std::string_view::npos; text.remove_prefix(at + by.size()))
    parts.push_back(text.substr(0, at));
  parts.push_back(text);
  return parts;
}

/// "vol-1", or as it was written once "aws://ZONE/vol-1".
Result<std::string> ebs_volume(const std::string& id) {
  constexpr std::string_view kScheme = "aws://";
  if (!id.starts_with(kScheme)) return id;
  std::string_view path = std::string_view(id).substr(kScheme.size());
  path.remove_prefix(std::min(path.find('/'), path.size()));
  path = path.substr(0, path.find_first_of("?#"));
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (!path.starts_with("vol-") || path.find('/') != std::string_view::npos)
    return unclear(fmt::format(
        "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({})", id));
  return std::string(path);
}

std::string gce_disk(std::string_view where, std::string_view place, std::string_view disk) {
  return fmt::format("projects/UNSPECIFIED/{}/{}/disks/{}", where, place, disk);
}

/// "us-west1" of "us-west1-a__us-west1-b".
Result<std::string> gce_region(const std::vector<std::string_view>& zones) {
  std::set<std::string> regions;
  for (const std::string_view zone : zones) {
    const auto parts = split(zone, "-");
    if (parts.size() != 3)
      return unclear(
          fmt::format("failed to get region from zones: zone in unexpected format, expected: "
                      "{{locale}}-{{region}}-{{zone}}, got: {}",
                      zone));
    regions.insert(fmt::format("{}-{}", parts[0], parts[1]));
  }
  if (regions.size() != 1)
    return unclear("failed to get region from zones: multiple or no regions gotten from zones");
  return *regions.begin();
}

/// A disk of one zone, of several (then of their region), or of nobody knows where.
Result<std::string> gce_disk(const api::PersistentVolume& volume) {
  const std::string& disk = volume.spec.gce_persistent_disk->pd_name;
  Symbol label;
  for (const char* key : {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"})
    if (const Symbol* value = volume.metadata.labels.find(key); value != nullptr && label.empty())
      label = *value;
  if (label.empty()) return gce_disk("zones", "UNSPECIFIED", disk);
  const auto zones = split(label.view(), "__");
  if (zones.size() == 1) return gce_disk("zones", zones[0], disk);
  KOORD_TRY(region, gce_region(zones));
  return gce_disk("regions", region, disk);
}

Result<std::string> azure_disk(const api::AzureDiskVolumeSource& disk) {
  constexpr std::string_view kManaged = "managed";
  const auto alike = [](char a, char b) { return (a | 0x20) == b; };
  if (disk.kind && !std::equal(disk.kind->view().begin(), disk.kind->view().end(), kManaged.begin(),
                               kManaged.end(), alike))
    return unclear(fmt::format("kind({}) is not supported in csi migration", disk.kind->view()));
  return disk.data_disk_uri;
}

}  // namespace

std::span<const InTreePlugin> in_tree_plugins() { return kPlugins; }

const InTreePlugin* in_tree_plugin(std::string_view name) {
  const auto it = std::find_if(kPlugins.begin(), kPlugins.end(), [&](auto& p) { return p.name == name; });
  return it != kPlugins.end() ? &*it : nullptr;
}

bool is_migrated(const InTreePlugin& plugin, const api::CsiNode* node) {
  if (node == nullptr || plugin.migrated == never) return false;
  if (plugin.migrated == always) return true;
  const Symbol* listed = node->metadata.annotations.find(kMigratedPlugins);
  if (listed == nullptr) return false;
  const auto names = split(listed->view(), ",");
  return std::find(names.begin(), names.end(), plugin.name) != names.end();
}

std::optional<InTreeVolume> in_tree_volume(const api::Volume& v) {
  if (v.aws_elastic_block_store)
    return InTreeVolume{&kPlugins[kAwsEbs], ebs_volume(v.aws_elastic_block_store->volume_id)};
  if (v.gce_persistent_disk)
    return InTreeVolume{&kPlugins[kGcePd], gce_disk("zones", "UNSPECIFIED", v.gce_persistent_disk->pd_name)};
  if (v.azure_disk) return InTreeVolume{&kPlugins[kAzureDisk], azure_disk(*v.azure_disk)};
  if (v.cinder) return InTreeVolume{&kPlugins[kCinder], v.cinder->volume_id};
  if (v.portworx_volume) return InTreeVolume{&kPlugins[kPortworx], v.portworx_volume->volume_id};
  return std::nullopt;
}

std::optional<InTreeVolume> in_tree_volume(const api::PersistentVolume& volume) {
  const api::PersistentVolumeSpec& v = volume.spec;
  if (v.aws_elastic_block_store)
    return InTreeVolume{&kPlugins[kAwsEbs], ebs_volume(v.aws_elastic_block_store->volume_id)};
  if (v.gce_persistent_disk) return InTreeVolume{&kPlugins[kGcePd], gce_disk(volume)};
  if (v.azure_disk) return InTreeVolume{&kPlugins[kAzureDisk], azure_disk(*v.azure_disk)};
  if (v.cinder) return InTreeVolume{&kPlugins[kCinder], v.cinder->volume_id};
  if (v.portworx_volume) return InTreeVolume{&kPlugins[kPortworx], v.portworx_volume->volume_id};
  if (v.azure_file) return InTreeVolume{&kPlugins[kAzureFile], std::string()};
  if (v.vsphere_volume) return InTreeVolume{&kPlugins[kVsphere], v.vsphere_volume->volume_path};
  return std::nullopt;
}

}  // namespace koord::scheduling::volumes
