// Nominator: see nominator.hpp.
#include "framework/nominator.hpp"

#include <algorithm>

namespace koord::scheduler {

void Nominator::nominate(const PodInfo& pod, const Symbol& node) {
  if (node.empty() && node_of_.empty()) return;
  const auto known = node_of_.find(&pod);
  if (known != node_of_.end()) {
    if (known->second == node) return;
    const auto it = by_name_.find(known->second);
    std::erase(it->second.pods, &pod);
    it->second.changes = ++changes_;
    if (it->second.pods.empty()) {
      leave(it->second);
      by_name_.erase(it);
    }
    node_of_.erase(known);
  }
  if (node.empty()) return;
  node_of_.emplace(&pod, node);
  Node& entry = by_name_[node];
  entry.pods.push_back(&pod);
  entry.changes = ++changes_;
  if (entry.pods.size() == 1) enter(node, entry);
}

Symbol Nominator::node_of(const PodInfo& pod) const {
  const auto it = node_of_.find(&pod);
  return it != node_of_.end() ? it->second : Symbol();
}

void Nominator::node_came(const Symbol& name) {
  const auto it = by_name_.find(name);
  if (it != by_name_.end() && it->second.row == kNoRow) enter(name, it->second);
}

void Nominator::node_went(const Symbol& name) {
  const auto it = by_name_.find(name);
  if (it != by_name_.end()) leave(it->second);
}

std::span<const PodInfo* const> Nominator::on(Row row) const {
  const auto it = by_row_.find(row);
  return it != by_row_.end() ? it->second->pods : std::span<const PodInfo* const>();
}

std::uint64_t Nominator::changes(Row row) const {
  const auto it = by_row_.find(row);
  return it != by_row_.end() ? it->second->changes : 0;
}

void Nominator::enter(const Symbol& name, Node& node) {
  const Row row = nodes_.find(name);
  if (row == kNoRow || !nodes_.node(row)) return;
  node.row = row;
  rows_.push_back(row);
  by_row_[row] = &node;
}

void Nominator::leave(Node& node) {
  if (node.row == kNoRow) return;
  std::erase(rows_, node.row);
  by_row_.erase(node.row);
  node.row = kNoRow;
}

}  // namespace koord::scheduler
