// Volumes of plugins that were once part of Kubernetes, as the CSI drivers know them that took their place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "koord/base/result.hpp"

namespace koord::api {
struct CsiNode;
struct PersistentVolume;
struct Volume;
}  // namespace koord::api

namespace koord::scheduling::volumes {

/// The annotation of a CSINode with the names of plugins, comma-separated.
inline constexpr std::string_view kMigratedPlugins = "storage.alpha.kubernetes.io/migrated-plugins";

/// A plugin with a CSI driver in its place.
struct InTreePlugin {
  /// On which nodes the scheduler reckons with the driver.
  enum class Migrated : std::uint8_t {
    always,  // where there are CSI drivers
    listed,  // where the CSINode's annotation names the plugin
    never,   // its volumes stay what they are to the scheduler
  };
  std::string_view name;    // as StorageClasses name it: "kubernetes.io/aws-ebs"
  std::string_view driver;  // "ebs.csi.aws.com"
  Migrated migrated;
  /// What the driver calls the zone of a volume, as a label of nodes; empty: as Kubernetes does.
  std::string_view zone_key = {};
};

std::span<const InTreePlugin> in_tree_plugins();  // at most eight: some keep a bit for each
/// nullptr: there is none of that name.
const InTreePlugin* in_tree_plugin(std::string_view name);
/// Whether volumes of the plugin are the driver's on this node; nullptr: it has no CSI drivers.
bool is_migrated(const InTreePlugin& plugin, const api::CsiNode* node);

struct InTreeVolume {
  const InTreePlugin* plugin;
  /// What the driver calls it; an error (in Kubernetes' words) if that cannot be told.
  Result<std::string> handle;
};

/// Absent: no plugin of those has it.
std::optional<InTreeVolume> in_tree_volume(const api::Volume& volume);
std::optional<InTreeVolume> in_tree_volume(const api::PersistentVolume& volume);

}  // namespace koord::scheduling::volumes
