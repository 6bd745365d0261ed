// LowestPriorities: of each row the lowest priority among its pods, so that most rows need not be looked at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "koord/scheduling/cluster/cluster_observer.hpp"
#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/cluster/row_slots.hpp"

namespace koord::scheduling::preemption {

class LowestPriorities final : public ClusterObserver {
 public:
  static constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();

  explicit LowestPriorities(const NodeTable& nodes) : nodes_(nodes), rows_(nodes) {}

  /// kNone: there is no pod.
  std::int32_t of(Row row) {
    Lowest& lowest = rows_[row];
    if (!lowest.known) {
      lowest = {kNone, true};
      for (const PodInfo* pod : nodes_.pods(row)) lowest.priority = std::min(lowest.priority, pod->priority);
    }
    return lowest.priority;
  }

  void pod_added(Row row, const PodInfo& pod) override {
    Lowest& lowest = rows_[row];
    lowest.priority = std::min(lowest.priority, pod.priority);
  }
  void pod_removed(Row row, const PodInfo& pod) override {
    if (pod.priority <= rows_[row].priority) rows_[row].known = false;
  }
  void node_changed(Row, const api::Node*, const api::Node*) override {}

 private:
  struct Lowest {
    std::int32_t priority = kNone;
    bool known = true;
  };
  const NodeTable& nodes_;
  RowSlots<Lowest> rows_;
};

}  // namespace koord::scheduling::preemption
