// Nominator: which pods are nominated to which nodes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "koord/base/symbol.hpp"
#include "koord/scheduling/cluster/cluster_observer.hpp"
#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling {

/// By the pods' place in memory: a PodInfo is taken out before it goes. A node need not exist: its pods count
/// from when it does.
class Nominator final : public Nominated {
 public:
  explicit Nominator(const NodeTable& nodes) : nodes_(nodes) {}

  /// In place of what it was nominated to before; an empty name: to nothing.
  void nominate(const PodInfo& pod, const Symbol& node);
  /// The same of a pod that is another scheduler's.
  void nominate_foreign(const PodInfo& pod, const Symbol& node);
  /// The empty one: it is not nominated.
  Symbol node_of(const PodInfo& pod) const;
  std::size_t size() const { return node_of_.size(); }
  /// What is asked of the pod is another now; of no interest if it is not nominated.
  void changed(const PodInfo& pod);

  /// The table has a node of this name from now on, or has none any more.
  void node_came(const Symbol& name);
  void node_went(const Symbol& name);

  std::span<const Row> rows() const override { return rows_; }
  std::span<const PodInfo* const> on(Row row) const override;
  std::uint64_t changes(Row row) const override { return row < by_row_.size() ? by_row_[row].changes : 0; }
  Row row_of(const PodInfo& pod) const override;
  bool is_foreign(const PodInfo& pod) const override { return foreign_.contains(&pod); }

 private:
  struct Node {
    std::vector<const PodInfo*> pods;
    Row row = kNoRow;
  };
  struct OnRow {
    const Node* node = nullptr;
    std::uint64_t changes = 0;
  };
  void count(const Node& node);
  void enter(const Symbol& name, Node& node);
  void leave(Node& node);

  const NodeTable& nodes_;
  std::unordered_map<Symbol, Node> by_name_;
  std::unordered_map<const PodInfo*, Symbol> node_of_;
  std::vector<Row> rows_;
  std::uint64_t changes_ = 0;
  std::vector<OnRow> by_row_;
  std::unordered_map<std::string, const PodInfo*> by_uid_;
  std::unordered_set<const PodInfo*> foreign_;
};

}  // namespace koord::scheduling
