// Nominator: see nominator.hpp.
#include "koord/scheduling/cluster/nominator.hpp"

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling {

void Nominator::nominate(const PodInfo& pod, const Symbol& node) {
  if (node.empty() && node_of_.empty()) return;
  const auto known = node_of_.find(&pod);
  if (known != node_of_.end()) {
    if (known->second == node) return;
    const auto it = by_name_.find(known->second);
    std::erase(it->second.pods, &pod);
    if (const auto uid = by_uid_.find(pod.pod->metadata.uid); uid != by_uid_.end() && uid->second == &pod)
      by_uid_.erase(uid);
    count(it->second);
    if (it->second.pods.empty()) {
      leave(it->second);
      by_name_.erase(it);
    }
    node_of_.erase(known);
    foreign_.erase(&pod);
  }
  if (node.empty()) return;
  node_of_.emplace(&pod, node);
  Node& entry = by_name_[node];
  by_uid_[pod.pod->metadata.uid] = &pod;
  entry.pods.push_back(&pod);
  if (entry.pods.size() == 1) enter(node, entry);
  count(entry);
}

void Nominator::nominate_foreign(const PodInfo& pod, const Symbol& node) {
  nominate(pod, node);
  if (!node.empty()) foreign_.insert(&pod);
}

void Nominator::count(const Node& node) {
  if (node.row != kNoRow) by_row_[node.row].changes = ++changes_;
}

void Nominator::changed(const PodInfo& pod) {
  const auto known = node_of_.find(&pod);
  if (known != node_of_.end()) count(by_name_.find(known->second)->second);
}

Row Nominator::row_of(const PodInfo& pod) const {
  const auto uid = by_uid_.find(pod.pod->metadata.uid);
  if (uid == by_uid_.end()) return kNoRow;
  return by_name_.find(node_of_.find(uid->second)->second)->second.row;
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
  const Node* node = row < by_row_.size() ? by_row_[row].node : nullptr;
  return node != nullptr ? node->pods : std::span<const PodInfo* const>();
}

void Nominator::enter(const Symbol& name, Node& node) {
  const Row row = nodes_.find(name);
  if (row == kNoRow || !nodes_.node(row)) return;
  node.row = row;
  rows_.push_back(row);
  if (by_row_.size() <= row) by_row_.resize(row + 1);
  by_row_[row] = {&node, ++changes_};
}

void Nominator::leave(Node& node) {
  if (node.row == kNoRow) return;
  std::erase(rows_, node.row);
  by_row_[node.row] = {};
  node.row = kNoRow;
}

}  // namespace koord::scheduling
