// Cluster events: what happened that may make a rejected pod schedulable.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <type_traits>

#include "koord/base/symbol.hpp"

namespace koord::api {
struct Node;
struct Pod;
}  // namespace koord::api

namespace koord::scheduling {

/// kube-scheduler's resource and action. Of nodes and pods they are these; those of other objects follow
/// from kFirstObjectEvent on, see ObjectStore::events().
enum class EventKind : std::uint8_t {
  node_add,
  node_delete,
  node_allocatable,
  node_label,
  node_taint,  // also: the node became schedulable
  node_condition,
  node_annotation,
  // Pods that are on a node.
  assigned_pod_add,
  assigned_pod_delete,  // also: a pod that was assumed is not, and one that was nominated is no more
  assigned_pod_label,
  assigned_pod_scale_down,
  assigned_pod_ends,    // it has been asked to go
  assigned_pod_update,  // in anything else
  // The rejected pod itself.
  own_pod_label,
  own_pod_scale_down,
  own_pod_toleration,
  own_pod_gates_gone,
  own_pod_update,  // in anything else
  // What a plugin tells of itself: CycleControl::happened().
  plugin_told,
};
constexpr unsigned kFirstObjectEvent = 24;
/// How many values an EventKind can have.
constexpr unsigned kEventKinds = std::numeric_limits<std::underlying_type_t<EventKind>>::max() + 1;

/// As in the metrics' label `event`. Of a kind alone only for nodes and pods.
std::string_view label(EventKind kind);

/// A set of kinds of events; it has room for each value that EventKind can have.
class EventMask {
 public:
  constexpr EventMask() = default;
  static constexpr EventMask of(EventKind kind) {
    EventMask mask;
    mask.words_[word(kind)] = bit(kind);
    return mask;
  }
  static constexpr EventMask all() {
    EventMask mask;
    mask.words_.fill(~std::uint64_t{0});
    return mask;
  }
  constexpr bool has(EventKind kind) const { return (words_[word(kind)] & bit(kind)) != 0; }
  constexpr bool empty() const { return *this == EventMask(); }

  constexpr EventMask& operator|=(const EventMask& more) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= more.words_[i];
    return *this;
  }
  friend constexpr EventMask operator|(EventMask a, const EventMask& b) { return a |= b; }
  friend constexpr bool operator==(const EventMask&, const EventMask&) = default;

 private:
  static constexpr std::size_t word(EventKind kind) { return static_cast<std::size_t>(kind) / 64; }
  static constexpr std::uint64_t bit(EventKind kind) {
    return std::uint64_t{1} << static_cast<unsigned>(kind) % 64;
  }

  std::array<std::uint64_t, kEventKinds / 64> words_{};
};
template <class... Kinds>
constexpr EventMask events_of(Kinds... kinds) {
  return (EventMask::of(kinds) | ...);
}

/// What of a plugin's rejected a pod, or lets it wait: this quota, that gang. The plugin's instances in all
/// profiles mean the same by it.
struct RejectorKey {
  std::string_view plugin = {};  // its name in the plugin table; lives forever
  Symbol key = {};               // empty: nothing in particular
  friend bool operator==(const RejectorKey&, const RejectorKey&) = default;
};
struct RejectorKeyHash {
  std::size_t operator()(const RejectorKey& of) const noexcept {
    return std::hash<std::string_view>{}(of.plugin) * 31 + of.key.hash();
  }
};

struct ClusterEvent {
  EventKind kind;
  // Before and after; of the node or of the pod, depending on the kind. nullptr: was not, is no more.
  const api::Node* old_node = nullptr;
  const api::Node* new_node = nullptr;
  const api::Pod* old_pod = nullptr;
  const api::Pod* new_pod = nullptr;
  // The same of another object: of the T whose ObjectStore the kind is from.
  const void* old_object = nullptr;
  const void* new_object = nullptr;
  std::string_view object_label = {};
  /// Pods of a higher priority are not concerned.
  std::int32_t most_priority = std::numeric_limits<std::int32_t>::max();
  /// Set: only pods that this plugin rejected are concerned, and of those that it rejected with a key only
  /// those of this one.
  RejectorKey about = {};
};

std::string_view label(const ClusterEvent& event);

}  // namespace koord::scheduling
