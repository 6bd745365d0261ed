// Nominator: which pods are nominated to which nodes.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "framework/cluster_observer.hpp"
#include "framework/node_table.hpp"
#include "framework/pod_info.hpp"
#include "koord/base/symbol.hpp"

namespace koord::scheduler {

/// By the pods' place in memory: a PodInfo is taken out before it goes. A node need not exist: its pods count
/// from when it does.
class Nominator final : public Nominated {
 public:
  explicit Nominator(const NodeTable& nodes) : nodes_(nodes) {}

  /// In place of what it was nominated to before; an empty name: to nothing.
  void nominate(const PodInfo& pod, const Symbol& node);
  /// The empty one: it is not nominated.
  Symbol node_of(const PodInfo& pod) const;
  std::size_t size() const { return node_of_.size(); }
  /// How often anything has changed about who is nominated to the row: 0 as long as nobody is. What follows
  /// from it holds while the number is the same.
  std::uint64_t changes(Row row) const;

  /// The table has a node of this name from now on, or has none any more.
  void node_came(const Symbol& name);
  void node_went(const Symbol& name);

  std::span<const Row> rows() const override { return rows_; }
  std::span<const PodInfo* const> on(Row row) const override;

 private:
  struct Node {
    std::vector<const PodInfo*> pods;
    Row row = kNoRow;
    std::uint64_t changes = 0;
  };
  void enter(const Symbol& name, Node& node);
  void leave(Node& node);

  const NodeTable& nodes_;
  std::unordered_map<Symbol, Node> by_name_;
  std::unordered_map<const PodInfo*, Symbol> node_of_;
  std::vector<Row> rows_;
  std::uint64_t changes_ = 0;
  std::unordered_map<Row, const Node*> by_row_;
};

}  // namespace koord::scheduler
