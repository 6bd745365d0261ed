// Cluster events: what happened that may make a rejected pod schedulable.
#pragma once

#include <cstdint>
#include <string_view>

namespace koord::api {
struct Node;
struct Pod;
}  // namespace koord::api

namespace koord::scheduler {

/// kube-scheduler's resource and action, as far as a plugin here asks for them.
enum class EventKind : std::uint8_t {
  node_add,
  node_allocatable,
  node_label,
  node_taint,  // also: the node became schedulable
  assigned_pod_delete,
  assigned_pod_scale_down,
  own_pod_scale_down,
  own_pod_toleration,
  own_pod_gates_gone,
};

/// As in the metrics' label `event`.
std::string_view label(EventKind kind);

using EventMask = std::uint32_t;
constexpr EventMask mask_of(EventKind kind) { return 1u << static_cast<unsigned>(kind); }
template <class... Kinds>
constexpr EventMask events_of(Kinds... kinds) {
  return (mask_of(kinds) | ...);
}

struct ClusterEvent {
  EventKind kind;
  // Before and after; of the node or of the pod, depending on the kind. nullptr: was not, is no more.
  const api::Node* old_node = nullptr;
  const api::Node* new_node = nullptr;
  const api::Pod* old_pod = nullptr;
  const api::Pod* new_pod = nullptr;
};

}  // namespace koord::scheduler
