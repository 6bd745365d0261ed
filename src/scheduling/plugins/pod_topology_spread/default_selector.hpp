// What a pod without constraints of its own is counted with: the pods that its services and its controller
// select.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/api/types/apps_v1/replica_set.hpp"
#include "koord/api/types/apps_v1/stateful_set.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/core_v1/replication_controller.hpp"
#include "koord/api/types/core_v1/service.hpp"
#include "koord/scheduling/cluster/object_store.hpp"

namespace koord::scheduling::pod_topology_spread {

class DefaultSelector {
 public:
  /// In a plugin's constructor. The stores call back: it stays where it is, as long as they.
  explicit DefaultSelector(ObjectStores& objects);
  DefaultSelector(const DefaultSelector&) = delete;
  DefaultSelector& operator=(const DefaultSelector&) = delete;

  /// Absent: there is nothing to go by. Costs the pod's labels and the services that have one of them.
  std::optional<api::LabelSelector> of(const api::Pod& pod) const;
  /// Another one whenever of() may say something else.
  std::uint64_t generation() const;

 private:
  /// A label by which a service is found: the first of its selector.
  struct Place {
    Symbol namespace_, key, value;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const;
  };
  void service_changed(const api::Service* before, const api::Service* now);

  ObjectStore<api::Service>& services_;
  ObjectStore<api::ReplicationController>& controllers_;
  ObjectStore<api::ReplicaSet>& replica_sets_;
  ObjectStore<api::StatefulSet>& stateful_sets_;
  /// The selectors of services, with their names.
  std::unordered_map<Place, std::vector<std::pair<std::string, api::SymbolMap>>, PlaceHash> selectors_;
};

}  // namespace koord::scheduling::pod_topology_spread
