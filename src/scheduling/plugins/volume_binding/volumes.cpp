// What is known of volumes: see volumes.hpp.
#include "scheduling/plugins/volume_binding/volumes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/types/core_v1/node.hpp"
#include "scheduling/volumes/pod_claims.hpp"

namespace koord::scheduling::volume_binding {

namespace {

bool free(const api::PersistentVolume& volume) {
  return !volume.spec.claim_ref && volume.status.phase == "Available" && !volume.metadata.deletion_timestamp;
}

std::string claim_key(std::string_view ns, std::string_view name) { return fmt::format("{}/{}", ns, name); }
std::string claim_key(const api::ObjectReference& claim) { return claim_key(claim.namespace_, claim.name); }

volumes::NodeCondition condition(const api::Box<api::NodeSelector>& required, TopologyTable& topology) {
  return required ? volumes::NodeCondition(*required, topology) : volumes::NodeCondition();
}

}  // namespace

// Volumes

KnownVolumes::KnownVolumes(AssumedObjects<api::PersistentVolume>& volumes, TopologyTable& topology)
    : volumes_(volumes), topology_(topology) {
  volumes.on_change(
      [this](const api::PersistentVolume* before, const api::PersistentVolume* now) { change(before, now); });
}

void KnownVolumes::put_in(KnownVolume& volume) {
  const api::PersistentVolume& object = *volume.object;
  if (free(object)) available_[std::string(volumes::class_of(object))].insert(volume);
  if (!object.spec.claim_ref) return;
  naming_[claim_key(*object.spec.claim_ref)].insert(&volume);
}

void KnownVolumes::take_out(KnownVolume& volume) {
  const api::PersistentVolume& object = *volume.object;
  if (free(object)) {
    const auto of_class = available_.find(std::string(volumes::class_of(object)));
    of_class->second.erase(volume);
    if (of_class->second.empty()) available_.erase(of_class);
  }
  if (!object.spec.claim_ref) return;
  const auto of_claim = naming_.find(claim_key(*object.spec.claim_ref));
  List& list = of_claim->second;
  list.erase(&volume);
  if (list.empty()) naming_.erase(of_claim);
}

void KnownVolumes::change(const api::PersistentVolume* before, const api::PersistentVolume* now) {
  const std::string& name = (now != nullptr ? now : before)->metadata.name;
  const auto known = by_name_.find(name);
  if (now == nullptr) {
    if (known == by_name_.end()) return;
    take_out(*known->second);
    by_name_.erase(known);
    return;
  }
  const bool added = known == by_name_.end();
  KnownVolume& volume =
      added ? *by_name_.emplace(name, std::make_unique<KnownVolume>()).first->second : *known->second;
  if (!added) take_out(volume);
  const bool moved = added || before == nullptr || before->spec.node_affinity != now->spec.node_affinity ||
                     before->metadata.labels != now->metadata.labels;
  volume.object = volumes_.find({}, name);
  const api::Quantity* capacity = now->spec.capacity.find("storage");
  volume.capacity = capacity != nullptr ? *capacity : api::Quantity();
  if (moved) {
    volume.where = condition(required_nodes(*now, 0), topology_);
    volume.migrated = plugin_of(*now);
    if (volume.migrated != 0)
      volume.migrated_where = condition(required_nodes(*now, volume.migrated), topology_);
  }
  put_in(volume);
}

const KnownVolume* KnownVolumes::find(std::string_view name) const {
  const auto it = by_name_.find(std::string(name));
  return it != by_name_.end() ? it->second.get() : nullptr;
}

const FreeVolumes* KnownVolumes::available(std::string_view storage_class) const {
  const auto it = available_.find(std::string(storage_class));
  return it != available_.end() ? &it->second : nullptr;
}

const KnownVolumes::List& KnownVolumes::naming(std::string_view ns, std::string_view claim) const {
  static const List kNone;
  const auto it = naming_.find(claim_key(ns, claim));
  return it != naming_.end() ? it->second : kNone;
}

// Pools

const api::Quantity* volume_limit(const api::CsiStorageCapacity& capacity) {
  const auto& limit = capacity.maximum_volume_size ? capacity.maximum_volume_size : capacity.capacity;
  return limit ? &*limit : nullptr;
}

StoragePools::StoragePools(ObjectStore<api::CsiStorageCapacity>& capacities, TopologyTable& topology)
    : capacities_(capacities), topology_(topology) {
  capacities.on_change([this](const api::CsiStorageCapacity* before, const api::CsiStorageCapacity* now) {
    change(before, now);
  });
}

void StoragePools::change(const api::CsiStorageCapacity* before, const api::CsiStorageCapacity* now) {
  const auto key = [](const api::CsiStorageCapacity& pool) {
    return std::pair(pool.metadata.namespace_.str(), pool.metadata.name);
  };
  if (before != nullptr) {
    const auto it = by_class_.find(before->storage_class_name.str());
    it->second.erase(key(*before));
    if (it->second.empty()) by_class_.erase(it);
  }
  if (now == nullptr) return;
  StoragePool pool{capacities_.find(now->metadata.namespace_, now->metadata.name), {}};
  // Without a topology it can be used from nowhere.
  pool.where = now->node_topology ? volumes::NodeCondition(*now->node_topology, topology_)
                                  : volumes::NodeCondition(api::NodeSelector(), topology_);
  by_class_[now->storage_class_name.str()].insert_or_assign(key(*now), std::move(pool));
}

const StoragePools::Pools& StoragePools::of_class(std::string_view storage_class) const {
  static const Pools kNone;
  const auto it = by_class_.find(std::string(storage_class));
  return it != by_class_.end() ? it->second : kNone;
}

// Nodes

MigratedNodes::MigratedNodes(const NodeTable& nodes, ObjectStore<api::CsiNode>& csi_nodes)
    : nodes_(nodes), csi_nodes_(csi_nodes) {
  csi_nodes.on_change([this](const api::CsiNode* before, const api::CsiNode* now) {
    const Row row = nodes_.find((now != nullptr ? now : before)->metadata.name);
    if (row == kNoRow || !nodes_.node(row)) return;
    if (row >= plugins_.size()) plugins_.resize(row + 1);
    plugins_[row] = now != nullptr ? static_cast<std::uint8_t>(migrated_plugins(*now)) : 0;
  });
}

void MigratedNodes::node_changed(Row row, const api::Node* before, const api::Node* now) {
  if ((before != nullptr) == (now != nullptr)) return;
  const auto csi_node = now != nullptr ? csi_nodes_.find({}, now->metadata.name) : nullptr;
  if (row >= plugins_.size()) plugins_.resize(row + 1);
  plugins_[row] = csi_node ? static_cast<std::uint8_t>(migrated_plugins(*csi_node)) : 0;
}

KnownStorage::KnownStorage(const PluginContext& context)
    : claims(context.objects.watch<api::PersistentVolumeClaim>()),
      volumes(context.objects.watch<api::PersistentVolume>()),
      known(volumes, context.topology),
      pools(context.objects.watch<api::CsiStorageCapacity>(), context.topology),
      migrated(context.nodes, context.objects.watch<api::CsiNode>()) {
  context.observe(migrated);
}

}  // namespace koord::scheduling::volume_binding
