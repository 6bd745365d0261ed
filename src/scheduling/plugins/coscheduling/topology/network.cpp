// NetworkTopology: see network.hpp.
#include "scheduling/plugins/coscheduling/topology/network.hpp"

#include <fmt/format.h>

#include <utility>

#include "koord/api/koordinator/gang.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling::coscheduling::topology {

NetworkTopology::NetworkTopology(const PluginContext& context)
    : nodes_(context.nodes), complaints_(context.shared.get<Complaints>()) {
  context.objects.watch<api::ClusterNetworkTopology>().on_change(
      [this](const api::ClusterNetworkTopology* before, const api::ClusterNetworkTopology* now) {
        const api::ObjectMeta& meta = (now != nullptr ? now : before)->metadata;
        if (meta.name != api::ClusterNetworkTopology::kName) return;
        // Its status is written by ourselves.
        if (before == nullptr || now == nullptr || before->spec != now->spec) changed(now);
      });
  context.observe(*this);
}

void NetworkTopology::changed(const api::ClusterNetworkTopology* now) {
  tree_.clear();
  leaves_.assign(leaves_.size(), Tree::kNone);
  layers_ = {};
  wrong_.clear();
  if (now != nullptr) {
    if (auto read = read_layers(now->spec)) {
      layers_ = *std::move(read);
      for (Row row = 0; row < nodes_.rows(); ++row)
        if (nodes_.node(row)) put(row, *nodes_.node(row));
    } else {
      wrong_ = read.error().message();
      complaints_.say(
          "ClusterNetworkTopology", now->metadata,
          fmt::format("spec.networkTopologySpec: {}: gangs that name a network topology wait", wrong_));
    }
  }
  tell();
}

void NetworkTopology::put(Row row, const api::Node& node) {
  const Path path = path_of(layers_, node.metadata.name, node.metadata.labels);
  if (path.missing != nullptr) return;
  const Tree::Id leaf = tree_.put(path.names);
  if (row >= leaves_.size()) leaves_.resize(row + 1, Tree::kNone);
  leaves_[row] = leaf;
  if (rows_.size() < tree_.size()) rows_.resize(tree_.size(), kNoRow);
  rows_[leaf] = row;
}

void NetworkTopology::take_out(Row row) {
  if (leaf(row) != Tree::kNone) tree_.remove(std::exchange(leaves_[row], Tree::kNone));
}

void NetworkTopology::node_changed(Row row, const api::Node* before, const api::Node* now) {
  if (!there()) return;
  if (before != nullptr && now != nullptr &&
      path_of(layers_, before->metadata.name, before->metadata.labels) ==
          path_of(layers_, now->metadata.name, now->metadata.labels))
    return;
  const bool was = leaf(row) != Tree::kNone;
  take_out(row);
  if (now != nullptr) put(row, *now);
  if (was || leaf(row) != Tree::kNone) tell();
}

void NetworkTopology::tell() const {
  for (const auto& told : told_) told();
}

// Pods that are there

void NetworkTopology::pod_added(Row row, const PodInfo& pod) {
  const Symbol* const selector = pod.pod->metadata.annotations.find(api::kNetworkTopologySelector);
  if (selector == nullptr || selector->empty()) return;
  placed_[pod.pod->metadata.uid] = {selector->str(), row};
  ++existing_[selector->str()][row];
}

void NetworkTopology::pod_removed(Row, const PodInfo& pod) {
  if (placed_.empty()) return;
  const auto it = placed_.find(pod.pod->metadata.uid);
  if (it == placed_.end()) return;
  const auto of = existing_.find(it->second.selector);
  if (const auto on = of->second.find(it->second.row); --on->second == 0) of->second.erase(on);
  if (of->second.empty()) existing_.erase(of);
  placed_.erase(it);
}

void NetworkTopology::pod_changed(Row row, const PodInfo& pod) {
  pod_removed(row, pod);
  pod_added(row, pod);
}

std::vector<std::int64_t> NetworkTopology::existing(std::string_view selector) const {
  std::vector<std::int64_t> sums;
  const auto of = selector.empty() ? existing_.end() : existing_.find(selector);
  if (of == existing_.end()) return sums;
  sums.resize(tree_.size());
  for (const auto& [row, pods] : of->second)
    for (Tree::Id at = leaf(row); at != Tree::kNone; at = tree_[at].parent) sums[at] += pods;
  return sums;
}

}  // namespace koord::scheduling::coscheduling::topology
