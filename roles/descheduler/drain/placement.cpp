// See placement.hpp.
#include "drain/placement.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "koord/api/rules/node_selector.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/rules/toleration.hpp"
#include "koord/api/types/core_v1/node.hpp"

namespace koord::descheduler::drain {
namespace {

api::ResourceList requests_of(const api::Pod& pod) {
  api::ResourceList asked = api::pod_requests(pod);
  asked["pods"] = api::Quantity::from_int(1);
  return asked;
}

bool has_room(const api::ResourceList& asked, const api::ResourceList& used, const api::Node& node) {
  return std::ranges::all_of(asked, [&](const auto& entry) {
    if (entry.value.sign() <= 0) return true;
    const api::Quantity* const has = node.status.allocatable.find(entry.key.view());
    if (has == nullptr) return false;
    const api::Quantity* const taken = used.find(entry.key.view());
    return entry.value + (taken ? *taken : api::Quantity()) <= *has;
  });
}

}  // namespace

void add(api::ResourceList& to, const api::ResourceList& more) {
  for (const auto& [name, amount] : more) to[name] += amount;
}

api::ResourceList requests_of(std::span<const PodPtr> pods) {
  api::ResourceList all;
  for (const PodPtr& pod : pods)
    if (pod->status.phase != "Succeeded" && pod->status.phase != "Failed") add(all, requests_of(*pod));
  return all;
}

std::vector<std::size_t> largest_first(std::span<const PodPtr> pods) {
  std::vector<std::pair<api::Quantity, api::Quantity>> asked;
  for (const PodPtr& pod : pods) {
    const api::ResourceList all = api::pod_requests(*pod);
    const auto amount = [&](std::string_view name) {
      const api::Quantity* const found = all.find(name);
      return found ? *found : api::Quantity();
    };
    asked.emplace_back(amount("cpu"), amount("memory"));
  }
  std::vector<std::size_t> order(pods.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return asked[a] > asked[b]; });
  return order;
}

std::vector<Symbol> BasicPlacement::place(std::span<const PodPtr> pods, std::span<const Elsewhere> nodes) {
  std::vector<const Elsewhere*> order;
  for (const Elsewhere& node : nodes)
    if (node.view.ready && !node.view.node->spec.unschedulable) order.push_back(&node);
  std::ranges::sort(order, {}, [](const Elsewhere* n) {
    return std::pair<bool, std::string_view>(n->is_last_choice, n->view.node->metadata.name);
  });
  std::vector<api::ResourceList> used;
  for (const Elsewhere* node : order) add(used.emplace_back(requests_of(node->view.pods)), node->reserved);

  std::vector<api::ResourceList> asked;
  for (const PodPtr& pod : pods) asked.push_back(requests_of(*pod));
  std::vector<Symbol> placed(pods.size());
  for (const std::size_t i : largest_first(pods)) {
    const api::Pod& pod = *pods[i];
    const api::RequiredNodeAffinity affinity(pod.spec);
    for (std::size_t n = 0; n < order.size(); ++n) {
      const api::Node& node = *order[n]->view.node;
      const std::vector<api::Taint> taints = node.spec.taints;
      const std::vector<api::Toleration> tolerations = pod.spec.tolerations;
      if (!has_room(asked[i], used[n], node) || api::untolerated(taints, tolerations) != nullptr ||
          !affinity.matches(node) || (fit_ != nullptr && !fit_->fits(pod, order[n]->view)))
        continue;
      placed[i] = Symbol(node.metadata.name);
      add(used[n], asked[i]);
      break;
    }
  }
  return placed;
}

}  // namespace koord::descheduler::drain
