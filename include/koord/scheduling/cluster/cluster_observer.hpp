// What plugins that reach over rows are told of rows, and what they are asked about nominated pods.
#pragma once

#include <span>

#include "koord/scheduling/cluster/resource_cells.hpp"

namespace koord::api {
struct Node;
}

namespace koord::scheduling {

struct PodInfo;

/// Told of every pod that counts on a row (assumed or bound, of any scheduler) and of every node, when the
/// table has just changed. Pods may come before their row's node and stay behind it. A pod of which something
/// changes that others may read (labels, deletionTimestamp, affinity, requests, ports) is removed as it was
/// and added as it is; what it points to is its own until it is removed.
class ClusterObserver {
 public:
  virtual ~ClusterObserver() = default;
  virtual void pod_added(Row row, const PodInfo& pod) = 0;
  virtual void pod_removed(Row row, const PodInfo& pod) = 0;
  /// Something else of it is another now: its status, its annotations. It may have been told of before.
  virtual void pod_changed(Row /*row*/, const PodInfo& /*pod*/) {}
  /// nullptr: the row held no node before, or holds none now. Not called for changes that scheduling does not
  /// look at.
  virtual void node_changed(Row row, const api::Node* before, const api::Node* now) = 0;
};

/// The pods that are nominated to nodes: they take no room, but pods of lower priority leave it to them.
class Nominated {
 public:
  virtual ~Nominated() = default;
  /// The rows that have any, in no order, each once.
  virtual std::span<const Row> rows() const = 0;
  /// Pods nominated to this row, not yet assumed.
  virtual std::span<const PodInfo* const> on(Row row) const = 0;
  /// How often anything has changed about who is nominated to the row: 0 as long as nobody is. What follows
  /// from it holds while the number is the same.
  virtual std::uint64_t changes(Row row) const = 0;
  /// To which row the pod is nominated, by its uid; kNoRow: to none that there is.
  virtual Row row_of(const PodInfo& pod) const = 0;
  /// Of those that on() gives: another scheduler has nominated it, and only pods of a lower priority leave it
  /// their room.
  virtual bool is_foreign(const PodInfo& /*pod*/) const { return false; }
};

}  // namespace koord::scheduling
