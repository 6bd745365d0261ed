// What VolumeBinding knows of volumes and storage, kept as they change, for all profiles together.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/api/types/storage_v1/csi_node.hpp"
#include "koord/api/types/storage_v1/csi_storage_capacity.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/cluster/assumed_objects.hpp"
#include "scheduling/plugins/volume_binding/free_volumes.hpp"
#include "scheduling/plugins/volume_binding/migration.hpp"

namespace koord::scheduling::volume_binding {

/// The volumes by name, by the claim that they are for, and those that nobody has.
class KnownVolumes {
 public:
  KnownVolumes(AssumedObjects<api::PersistentVolume>& volumes, TopologyTable& topology);
  KnownVolumes(const KnownVolumes&) = delete;
  KnownVolumes& operator=(const KnownVolumes&) = delete;

  /// nullptr: there is none. Holds until the next change.
  const KnownVolume* find(std::string_view name) const;
  /// Available ones of a class without a claim; nullptr: there are none.
  const FreeVolumes* available(std::string_view storage_class) const;
  /// Those that name the claim, whoever wrote that; by name.
  struct ByName {
    bool operator()(const KnownVolume* a, const KnownVolume* b) const {
      return a->object->metadata.name < b->object->metadata.name;
    }
  };
  using List = std::set<const KnownVolume*, ByName>;
  const List& naming(std::string_view ns, std::string_view claim) const;

 private:
  void change(const api::PersistentVolume* before, const api::PersistentVolume* now);
  void take_out(KnownVolume& volume);
  void put_in(KnownVolume& volume);

  AssumedObjects<api::PersistentVolume>& volumes_;
  TopologyTable& topology_;
  std::unordered_map<std::string, std::unique_ptr<KnownVolume>> by_name_;
  std::unordered_map<std::string, FreeVolumes> available_;  // by class
  std::unordered_map<std::string, List> naming_;            // by "namespace/name"
};

/// How much storage of a class there is where, as CSI drivers say.
struct StoragePool {
  std::shared_ptr<const api::CsiStorageCapacity> object;
  volumes::NodeCondition where;
};

/// The largest volume that can be made there; nullptr: it is not known.
const api::Quantity* volume_limit(const api::CsiStorageCapacity& capacity);

/// The pools by class, in the order of their names.
class StoragePools {
 public:
  StoragePools(ObjectStore<api::CsiStorageCapacity>& capacities, TopologyTable& topology);
  StoragePools(const StoragePools&) = delete;
  StoragePools& operator=(const StoragePools&) = delete;
  using Pools = std::map<std::pair<std::string, std::string>, StoragePool>;  // by namespace and name
  const Pools& of_class(std::string_view storage_class) const;

 private:
  void change(const api::CsiStorageCapacity* before, const api::CsiStorageCapacity* now);

  ObjectStore<api::CsiStorageCapacity>& capacities_;
  TopologyTable& topology_;
  std::unordered_map<std::string, Pools> by_class_;
};

/// Which nodes reckon with CSI drivers in the place of plugins of old, as their CSINodes say.
class MigratedNodes final : public ClusterObserver {
 public:
  MigratedNodes(const NodeTable& nodes, ObjectStore<api::CsiNode>& csi_nodes);
  MigratedNodes(const MigratedNodes&) = delete;
  MigratedNodes& operator=(const MigratedNodes&) = delete;
  /// Bits of MigratedPlugin.
  unsigned operator()(Row row) const { return row < plugins_.size() ? plugins_[row] : 0; }

  void pod_added(Row, const PodInfo&) override {}
  void pod_removed(Row, const PodInfo&) override {}
  void node_changed(Row row, const api::Node* before, const api::Node* now) override;

 private:
  const NodeTable& nodes_;
  ObjectStore<api::CsiNode>& csi_nodes_;
  std::vector<std::uint8_t> plugins_;  // by row
};

/// In PluginContext::shared.
struct KnownStorage {
  explicit KnownStorage(const PluginContext& context);

  AssumedObjects<api::PersistentVolumeClaim> claims;
  AssumedObjects<api::PersistentVolume> volumes;
  KnownVolumes known;
  StoragePools pools;
  MigratedNodes migrated;
};

}  // namespace koord::scheduling::volume_binding
