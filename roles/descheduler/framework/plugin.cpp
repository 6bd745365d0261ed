// See plugin.hpp.
#include "framework/plugin.hpp"

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::descheduler {

bool NodeFit::fits_elsewhere(const api::Pod& pod, std::span<const NodeView* const> nodes) {
  for (const NodeView* node : nodes)
    if (pod.spec.node_name.view() != node->node->metadata.name && fits(pod, *node)) return true;
  return false;
}

const NodeView* NodeFit::destination(const api::Pod& pod, const Snapshot& snapshot) {
  for (const NodeView& node : snapshot.nodes())
    if (node.ready && pod.spec.node_name.view() != node.node->metadata.name && fits(pod, node)) return &node;
  return nullptr;
}

std::vector<const NodeView*> NodeFit::destinations(std::span<const PodPtr> pods, const Snapshot& snapshot) {
  std::vector<const NodeView*> all;
  all.reserve(pods.size());
  for (const PodPtr& pod : pods) all.push_back(destination(*pod, snapshot));
  return all;
}

Task<Result<>> Plugin::deschedule(Pass& pass) {
  (void)pass;
  co_return Result<>();
}

Task<Result<>> Plugin::balance(Pass& pass) {
  (void)pass;
  co_return Result<>();
}

}  // namespace koord::descheduler
