// NodeView: a row of the node table as it would be with some pods more and some pods fewer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling {

/// The one way to ask "what if" about a row: nominated pods, victims of preemption. Holds pointers to the
/// pods that it is told of, and reads the table when it is asked: neither may change while it is used.
class NodeView {
 public:
  NodeView(const NodeTable& nodes, Row row) : nodes_(nodes), row_(row) {}

  /// As if `pod` were on the row too. It is not there, or was removed from the view.
  void add(const PodInfo& pod);
  /// As if `pod` were not on the row. It is there, or was added to the view.
  void remove(const PodInfo& pod);

  Row row() const { return row_; }
  /// nullptr: the row holds no node.
  const std::shared_ptr<const api::Node>& node() const { return nodes_.node(row_); }
  std::int64_t allocatable(ResourceId resource) const { return nodes_.allocatable(resource, row_); }
  std::int64_t used(ResourceId resource) const;
  /// Whether a pod there takes one of these, or one that collides with it.
  bool collides(std::span<const HostPort> ports) const;
  /// The pods that are there then, in no order.
  std::vector<const PodInfo*> pods() const;

  std::span<const PodInfo* const> added() const { return added_; }
  std::span<const PodInfo* const> removed() const { return removed_; }
  /// Nothing differs from the row.
  bool plain() const { return added_.empty() && removed_.empty(); }

 private:
  const NodeTable& nodes_;
  Row row_;
  std::vector<const PodInfo*> added_, removed_;
};

}  // namespace koord::scheduling
