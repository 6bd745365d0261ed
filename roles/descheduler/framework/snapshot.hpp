// Snapshot: the cluster as one pass of the descheduler sees it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "koord/base/clock.hpp"

namespace koord::api {
struct Namespace;
struct Node;
struct NodeMetric;
struct Pod;
struct PodDisruptionBudget;
struct PriorityClass;
}  // namespace koord::api

namespace koord::descheduler {

using PodPtr = std::shared_ptr<const api::Pod>;

/// What is in the informers when the pass begins; objects are shared with them, not copied.
struct SnapshotObjects {
  std::vector<std::shared_ptr<const api::Node>> nodes;
  std::vector<PodPtr> pods;  // of every phase, with and without a node
  std::vector<std::shared_ptr<const api::NodeMetric>> node_metrics;
  std::vector<std::shared_ptr<const api::Namespace>> namespaces;
  std::vector<std::shared_ptr<const api::PriorityClass>> priority_classes;
  std::vector<std::shared_ptr<const api::PodDisruptionBudget>> budgets;
};

struct NodeView {
  std::shared_ptr<const api::Node> node;
  std::span<const PodPtr> pods;                   // bound to it, of every phase, by namespace and name
  std::shared_ptr<const api::NodeMetric> metric;  // nullptr: there is none
  bool ready = false;  // no condition Ready says otherwise; a cordoned node may be ready
};

/// Immutable; whatever a plugin does shows in the next pass's.
class Snapshot {
 public:
  explicit Snapshot(SnapshotObjects objects, WallTime now = {});
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  WallTime now() const { return now_; }
  /// No other one of the process has it: for who remembers what follows from a snapshot.
  std::uint64_t id() const { return id_; }
  /// By name, ready or not.
  std::span<const NodeView> nodes() const { return nodes_; }
  /// nullptr: there is none of that name.
  const NodeView* node(std::string_view name) const;
  /// All of them: by node's name ("" first), then by namespace and name.
  std::span<const PodPtr> pods() const { return objects_.pods; }
  const api::Namespace* find_namespace(std::string_view name) const;
  const api::PriorityClass* priority_class(std::string_view name) const;
  std::span<const std::shared_ptr<const api::PodDisruptionBudget>> budgets() const {
    return objects_.budgets;
  }

 private:
  SnapshotObjects objects_;
  WallTime now_;
  std::uint64_t id_;
  std::vector<NodeView> nodes_;
};

}  // namespace koord::descheduler
