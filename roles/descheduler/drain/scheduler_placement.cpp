// See scheduler_placement.hpp.
#include "drain/scheduler_placement.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/scheduling/classes/class_state.hpp"
#include "koord/scheduling/engine/engine.hpp"

namespace koord::descheduler::drain {

namespace {

/// The place among `nodes`, which are in the order of names; -1: none.
std::ptrdiff_t best_of(scheduling::ClassState& state, const scheduling::NodeTable& table,
                       std::span<const Elsewhere* const> nodes) {
  std::ptrdiff_t best = -1;
  std::int32_t most = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool is_worse =
        best >= 0 && nodes[i]->is_last_choice && !nodes[static_cast<std::size_t>(best)]->is_last_choice;
    const scheduling::Row row = table.find(nodes[i]->view.node->metadata.name);
    if (is_worse || row == scheduling::kNoRow || state.verdict(row) != scheduling::kPass) continue;
    const std::int32_t score = state.score(row);
    const bool is_better =
        best >= 0 && !nodes[i]->is_last_choice && nodes[static_cast<std::size_t>(best)]->is_last_choice;
    if (best >= 0 && !is_better && score <= most) continue;
    best = static_cast<std::ptrdiff_t>(i);
    most = score;
  }
  return best;
}

}  // namespace

std::vector<Symbol> SchedulerPlacement::place(std::span<const PodPtr> pods,
                                              std::span<const Elsewhere> nodes) {
  if (!model_.whole()) return BasicPlacement().place(pods, nodes);
  std::vector<const Elsewhere*> order;
  for (const Elsewhere& node : nodes)
    if (node.view.ready) order.push_back(&node);
  std::ranges::sort(order, {},
                    [](const Elsewhere* n) { return std::string_view(n->view.node->metadata.name); });
  model_.catch_up();
  SchedulerModel::Without without(model_, {pods.begin(), pods.end()});
  std::vector<Symbol> placed(pods.size());
  for (const std::size_t i : largest_first(pods)) {
    scheduling::ClassState* const state = model_.ask(*pods[i]);
    if (state == nullptr || state->feasible() == 0) continue;
    const std::ptrdiff_t best = best_of(*state, model_.nodes(), order);
    if (best < 0) continue;
    placed[i] = Symbol(order[static_cast<std::size_t>(best)]->view.node->metadata.name);
    without.assume(pods[i], placed[i]);
  }
  return placed;
}

}  // namespace koord::descheduler::drain
