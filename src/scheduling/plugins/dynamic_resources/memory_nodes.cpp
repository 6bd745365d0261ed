// On which memory nodes a pod may be by its claims' devices, for who decides it.
#include <algorithm>
#include <bit>

#include "scheduling/plugin/numa_masks.hpp"
#include "scheduling/plugins/dynamic_resources/dynamic_resources.hpp"

namespace koord::scheduling::dynamic_resources {

namespace {

constexpr const char* kResource = "resourceclaims";

/// Where the devices of a claim are; of those that say it.
NumaMask nodes_of(const api::AllocationResult& allocation, const NodePools& pools) {
  NumaMask nodes = 0;
  for (const auto& result : allocation.devices.results)
    for (const NodePools::Device& device : pools.devices)
      if (device.object().name == result.device && device.slice->spec().driver == result.driver &&
          device.slice->spec().pool.name == result.pool && device.numa_node() >= 0)
        nodes |= NumaMask{1} << device.numa_node();
  return nodes;
}

/// What has its devices already goes where they are; those on several nodes leave nothing to choose.
void add_fixed(const api::AllocationResult& allocation, const NodePools& pools, NumaMask all,
               std::vector<NumaHintList>& out) {
  const NumaMask nodes = nodes_of(allocation, pools) & all;
  if (std::popcount(nodes) == 1) out.push_back({kResource, std::vector<NumaHint>{{nodes, true, 0}}});
}

/// The sets of a machine's memory nodes that hints name, fewer nodes first.
std::vector<NumaMask> sets_of(NumaMask all) {
  std::vector<int> numbers;
  for (NumaMask rest = all; rest != 0; rest &= rest - 1) numbers.push_back(std::countr_zero(rest));
  std::vector<NumaMask> sets;
  for (const std::uint64_t mask : numa_masks(numbers.size())) {
    NumaMask& nodes = sets.emplace_back(0);
    for (std::uint64_t rest = mask; rest != 0; rest &= rest - 1)
      nodes |= NumaMask{1} << numbers[static_cast<std::size_t>(std::countr_zero(rest))];
  }
  return sets;
}

bool contains_one(NumaMask nodes, const std::vector<NumaMask>& parts) {
  return std::ranges::any_of(parts, [nodes](NumaMask part) { return (part & ~nodes) == 0; });
}

std::vector<NumaHint> hints_of(const NumaCell& cell) {
  std::vector<NumaHint> hints;
  for (const NumaMask nodes : sets_of(cell.all))
    if (contains_one(nodes, cell.least))
      hints.push_back({nodes, std::popcount(nodes) == std::popcount(cell.least.front()), 0});
  return hints;
}

}  // namespace

void DynamicResources::prepare_alignment(ClaimState& state, const PodInfo& pod) const {
  if (!cluster_.rows.knows_numa()) return;
  NumaDecider* const decider = context_.shared.get<NumaDeciders>().of(context_.numa_hints);
  if (decider == nullptr) return;
  state.for_decider = decider->prepare_place(pod);
  if (state.for_decider == nullptr || !decider->may_bind(*state.for_decider)) return;
  state.decider = decider;
  state.unaligned = std::make_unique<HeldVerdicts>(context_.verdicts, context_.index);
}

/// Who decides has asked all others, and takes the row: what is left is whether the claims go with that.
VerdictId DynamicResources::align(ClaimState& state, const Asking& asking, Row row) const {
  if (state.decider == nullptr || !state.decider->may_refuse(*state.for_decider, row)) return kPass;
  const NodeView view(context_.nodes, row);
  // It sees the row otherwise than it is (reservations): Reserve decides.
  if (!state.decider->place(*state.for_decider, view)) return kPass;
  std::vector<NumaHintList> lists;
  if (!add_hints(state, asking, row, lists)) return timed_out_;
  std::vector<std::string> why;
  if (lists.empty() || state.decider->place_with(*state.for_decider, view, lists, why)) return kPass;
  return state.unaligned->verdict(std::move(why));
}

bool DynamicResources::add_hints(ClaimState& state, const Asking& asking, Row row,
                                 std::vector<NumaHintList>& out) const {
  const Result<NodePools>& pools = cluster_.rows.pools(row);
  if (!pools) return true;
  const NumaMask all = state.decider->nodes(row);
  for (const auto& allocation : state.allocations) add_fixed(*allocation, *pools, all, out);
  for (const ClaimState::Claim& claim : state.claims)
    if (claim->status.allocation) add_fixed(*claim->status.allocation, *pools, all, out);
  if (!state.allocations.empty() || asking.asks == nullptr) return true;
  const NumaCell& cell = numa_cell(state, asking, *pools, row);
  if (cell.placed) out.push_back({kResource, hints_of(cell)});
  return cell.changes != 0;
}

/// With more memory nodes to choose from nothing is lost: what can be had on some can be had on them and
/// others, so that only sets without such a part are searched.
const NumaCell& DynamicResources::numa_cell(ClaimState& state, const Asking& asking, const NodePools& pools,
                                            Row row) const {
  NumaCell& cell = asking.asks->numa[row];
  const NumaMask all = state.decider->nodes(row);
  if (cell.changes == cluster_.rows.changes(row) && cell.all == all) return cell;
  cell = {.changes = cluster_.rows.changes(row), .all = all, .placed = false, .least = {}};
  cell.placed =
      std::ranges::any_of(pools.devices, [](const auto& device) { return device.numa_node() >= 0; });
  if (!cell.placed) return cell;
  for (const NumaMask nodes : sets_of(all)) {
    if (contains_one(nodes, cell.least)) continue;
    bool had_all = false;
    const Answer answer = ask_in_time(state, asking, pools, true, nodes, had_all);
    if (answer.kind == Answer::Kind::found) cell.least.push_back(nodes);
    if (answer.kind != Answer::Kind::spent) continue;
    cell.changes = 0;  // asked again the next time
    break;
  }
  return cell;
}

/// Who decides may be asked before Reserve or after it.
NumaMask DynamicResources::bound_to(ClaimState& state, const Asking& asking,
                                    const PodAttempt& attempt) const {
  if (const auto* const place = attempt.pod.kept.find<const NumaPlace>()) return place->nodes;
  if (state.decider == nullptr) return 0;
  std::vector<NumaHintList> lists;
  (void)add_hints(state, asking, attempt.row, lists);  // what is not known binds it to nothing
  std::vector<std::string> why;
  return state.decider->place_with(*state.for_decider, NodeView(context_.nodes, attempt.row), lists, why)
      .value_or(0);
}

void DynamicResources::pod_numa_hints(PodAttempt& attempt, std::vector<NumaHintList>& out) const {
  auto* const state = static_cast<ClaimState*>(attempt.kept(context_.index));
  if (state == nullptr || state->decider == nullptr) return;
  VerdictId refused = kPass;
  const Asking* const asking = asking_on(*state, attempt.row, refused);
  if (asking != nullptr) (void)add_hints(*state, *asking, attempt.row, out);
}

}  // namespace koord::scheduling::dynamic_resources
