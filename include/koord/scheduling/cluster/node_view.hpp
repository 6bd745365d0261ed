// NodeView: a row of the node table as it would be with something more and something less on it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "koord/scheduling/cluster/slots.hpp"

namespace koord::scheduling {

/// The one way to ask "what if" about a row: nominated pods, victims of preemption, room that is kept for
/// some pods (RowDeltaPlugin). Holds pointers to the pods that it is told of, and reads the table when it is
/// asked: neither may change while it is used.
class NodeView {
 public:
  NodeView(const NodeTable& nodes, Row row) : nodes_(nodes), row_(row) {}

  /// As if `pod` were on the row too. It is not there, or was removed from the view.
  void add(const PodInfo& pod);
  /// As if `pod` were not on the row. It is there, or was added to the view.
  void remove(const PodInfo& pod);
  /// As if so much more of the resource were used; less where it is below zero.
  void use(ResourceId resource, std::int64_t amount);
  /// As if somebody took the port, besides the pods that are there.
  void take(const HostPort& port) { taken_.push_back(port); }
  /// As if one of those who take the port let it go.
  void free(const HostPort& port) { freed_.push_back(port); }
  /// What plugins say of CPUs, memory nodes, devices and the like of the row, which only they count: what one
  /// puts here its own filters and scores read.
  Slots& slots() { return slots_; }
  const Slots& slots() const { return slots_; }

  Row row() const { return row_; }
  const NodeTable& nodes() const { return nodes_; }
  /// nullptr: the row holds no node.
  const std::shared_ptr<const api::Node>& node() const { return nodes_.node(row_); }
  std::int64_t allocatable(ResourceId resource) const { return nodes_.allocatable(resource, row_); }
  std::int64_t used(ResourceId resource) const;
  /// Whether somebody there takes one of these, or one that collides with it.
  bool collides(std::span<const HostPort> ports) const;
  /// The pods that are there then, in no order.
  std::vector<const PodInfo*> pods() const;

  std::span<const PodInfo* const> added() const { return added_; }
  std::span<const PodInfo* const> removed() const { return removed_; }
  /// Nothing differs from the row.
  bool plain() const {
    return added_.empty() && removed_.empty() && amounts_.empty() && taken_.empty() && freed_.empty() &&
           slots_.empty();
  }

 private:
  const NodeTable& nodes_;
  Row row_;
  std::vector<const PodInfo*> added_, removed_;
  std::vector<Amount> amounts_;  // of use(), each resource once
  std::vector<HostPort> taken_, freed_;
  Slots slots_;
};

}  // namespace koord::scheduling
