// Volumes of plugins that moved to CSI drivers: where they can be used, in the words of those.
#pragma once

#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "koord/api/types/storage_v1/csi_node.hpp"

namespace koord::scheduling::volume_binding {

/// Plugins here are bits, and only of those whose volumes' topology is another in the driver's words.

/// Whose volume it is; 0: of none of them.
unsigned plugin_of(const api::PersistentVolume& volume);
/// What the node's annotation names.
unsigned migrated_plugins(const api::CsiNode& node);

/// The volume's required nodes, its zones as the driver of `plugin` calls them; 0: as they are written.
/// Absent: it can be used everywhere.
api::Box<api::NodeSelector> required_nodes(const api::PersistentVolume& volume, unsigned plugin);

}  // namespace koord::scheduling::volume_binding
