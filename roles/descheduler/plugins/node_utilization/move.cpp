// See move.hpp.
#include "plugins/node_utilization/move.hpp"

#include <algorithm>

#include "koord/api/rules/toleration.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "plugins/choice.hpp"

namespace koord::descheduler::node_utilization {

namespace {

bool tolerates_one_of(const api::Pod& pod, std::span<const Usage> targets) {
  return std::ranges::any_of(targets, [&](const Usage& target) {
    return std::ranges::all_of(target.node->node->spec.taints, [&](const api::Taint& taint) {
      return api::tolerates(pod.spec.tolerations, taint, /*comparisons=*/true);
    });
  });
}

}  // namespace

Task<> move_pods(Pass& pass, std::span<Usage> from, std::span<const Usage> to, Amounts room,
                 const Moves& moves) {
  const auto goes_on = [&](const Usage& node) {
    return moves.keeps_going(node) && std::ranges::all_of(room, [](std::int64_t left) { return left > 0; });
  };
  for (Usage& node : from) {
    std::vector<PodPtr> pods;
    for (const PodPtr& pod : node.pods)
      if (moves.wanted(*pod) && pass.may_go(*pod)) pods.push_back(pod);
    sort_least_first(pods);
    std::int64_t gone = 0;
    for (const PodPtr& pod : pods) {
      if (!goes_on(node) || (moves.most_of_node && gone >= *moves.most_of_node)) break;
      const std::string_view ns = pod->metadata.namespace_.view();
      if (std::ranges::find(moves.excluded_namespaces, ns) != moves.excluded_namespaces.end() ||
          !tolerates_one_of(*pod, to) || !pass.may_go_now(*pod))
        continue;
      if (!co_await pass.evict(pod, moves.reason(node))) continue;
      ++gone;
      const Amounts asked = moves.resources.asked(*pod);
      for (std::size_t i = 0; i < asked.size(); ++i) {
        node.used[i] = plus(node.used[i], -asked[i]);
        room[i] = plus(room[i], -asked[i]);
      }
    }
  }
}

Amounts room_of(std::span<const Usage> targets, const Percentages& limits, const Resources& resources) {
  Amounts room(resources.names().size());
  for (const Usage& target : targets) {
    const Amounts capped = target.capped(limits);
    for (std::size_t i = 0; i < room.size(); ++i) room[i] = plus(room[i], plus(capped[i], -target.used[i]));
  }
  return room;
}

}  // namespace koord::descheduler::node_utilization
