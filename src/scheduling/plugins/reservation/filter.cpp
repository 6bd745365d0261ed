// Which nodes have room for a pod: in reservations that are for it, and beside them.
#include <fmt/format.h>

#include <algorithm>

#include "koord/api/rules/pod_requests.hpp"
#include "scheduling/plugins/reservation/rules/why_not.hpp"
#include "scheduling/plugins/reservation/states.hpp"

namespace koord::scheduling::reservation {

namespace {

constexpr const char* kNothingMeets = "node(s) no reservation(s) to meet the requirements";
constexpr const char* kOtherParts = "reservation NUMA scope is incompatible with the best topology hint";

Policy policy_of(std::string_view text) {
  return text == "Aligned" ? Policy::aligned : text == "Restricted" ? Policy::restricted : Policy::none;
}

}  // namespace

std::unique_ptr<Reservations::FilterState> Reservations::read(const PodInfo& pod) const {
  auto state = std::make_unique<FilterState>(context_.verdicts);
  const auto want = [&](ResourceId resource, std::int64_t amount) {
    if (amount > 0) state->wanted.push_back({resource, amount});
  };
  want(kCpu, pod.requests.cpu);
  want(kMemory, pod.requests.memory);
  want(kStorage, pod.requests.storage);
  for (const Amount& a : pod.requests.scalars)
    if (!ignored_.has(context_.nodes.resources().name(a.resource))) want(a.resource, a.amount);
  state->takes = pod.requests;
  state->requests = api::pod_requests(*pod.pod);
  state->affinity = has_affinity(pod);
  state->ignores = api::ignores_reservations(pod.pod->metadata);
  if (auto wants = Wants::read(pod.pod->metadata); wants && wants->affinity)
    state->name = wants->affinity->name;
  if (is_reserve_pod(*pod.pod)) {
    state->reserves = true;
    state->node = Symbol(annotation(pod, api::kReservePodNode));
    state->policy = policy_of(annotation(pod, api::kReservePodPolicy));
    state->affinity = false;
  } else if (operates_as_reservation(*pod.pod)) {
    state->reserves = true;
    state->policy = Policy::aligned;
  }
  if (!is_reserve_pod(*pod.pod))
    for (RoomJudge* judge : judges_.of(context_.numa_hints))
      if (auto read = judge->prepare_rooms(pod)) state->judges.emplace_back(judge, std::move(read));
  return state;
}

FilterPlugin::Prepared Reservations::prepare_filter(const PodInfo& pod) {
  Prepared prepared;
  // Koordinator reserves resource claims and writes them nowhere, so that the next pod gets the same devices.
  if (is_reserve_pod(*pod.pod) && !pod.pod->spec.resource_claims.empty())
    prepared.rejected = "reservation's template has resource claims, which cannot be kept for its owners";
  prepared.state = read(pod);
  return prepared;
}

VerdictId Reservations::judge_reserve_pod(const FilterState& state, Row row) const {
  if (!state.node.empty() && context_.nodes.name(row) != state.node) return other_node_;
  // None goes with none alone.
  const Policies there = ledger_.policies(row);
  return (state.policy == Policy::none ? there.others : there.none) ? conflict_ : kPass;
}

void Reservations::filter(PodState* state, const NodeTable&, std::span<const Row> rows,
                          std::span<VerdictId> out) const {
  const auto& s = *static_cast<const FilterState*>(state);
  for (std::size_t i = 0; i < rows.size(); ++i)
    out[i] = s.reserves ? judge_reserve_pod(s, rows[i]) : s.affinity ? no_match_ : kPass;
}

/// Why the reservation would not do; `by_node` becomes what the node lacks. Both empty: it will.
Reservations::Reasons Reservations::through(const FilterState& state, const Rooms& rooms,
                                            const Ledger::Entry& e, std::vector<std::size_t>& by_node) const {
  by_node = rooms.short_of(state.wanted, &e);
  if (e.facts->policy != Policy::restricted) return {};
  return lacks(state.requests, *e.facts, rooms.taken(e), !state.name.empty(),
               [&](std::string_view name) { return ignored_.has(name); });
}

/// Whether the parts of the node (CPUs, memory nodes) that the reservation keeps suit the pod; the empty one:
/// those that none keeps.
bool Reservations::parts_serve(const FilterState& state, const NodeView& view,
                               std::string_view reservation) const {
  return std::ranges::all_of(
      state.judges, [&](const auto& judge) { return judge.first->serves(*judge.second, view, reservation); });
}

VerdictId Reservations::filter_view(PodState* state, const NodeTable&, const NodeView& view) const {
  auto& s = *static_cast<FilterState*>(state);
  if (s.reserves)
    if (const VerdictId said = judge_reserve_pod(s, view.row()); said != kPass) return said;
  if (const auto* applied = view.slots().find<const PreAllocation::Applied>())
    if (Reasons reasons = pre_allocation_.judge(*applied, s.asked(), view); !reasons.empty())
      return verdict(s, std::move(reasons));
  const Seen* const seen = view.slots().find<const Seen>();
  if (seen == nullptr && s.affinity) return no_match_;
  if (ledger_.idle() || s.ignores) return kPass;
  const Rooms rooms(ledger_, view, seen != nullptr ? RowEntries(seen->entries) : RowEntries());
  if (seen == nullptr)
    return rooms.returns() && !rooms.short_of(s.wanted, nullptr).empty() ? unhelpful_ : kPass;
  std::vector<bool> short_by_node(s.wanted.size());
  bool any_by_node = false;
  Reasons of_reservations;
  for (const Ledger::Entry* e : seen->entries) {
    const bool shares =
        std::ranges::any_of(s.requests, [&](const auto& asked) { return e->facts->counts(asked.key); });
    if (!s.affinity && !shares) continue;
    if (!s.name.empty() && s.name != e->facts->name) continue;
    std::vector<std::size_t> by_node;
    Reasons lacking = through(s, rooms, *e, by_node);
    if (by_node.empty() && lacking.empty()) {
      if (parts_serve(s, view, e->uid)) return kPass;
      lacking.emplace_back(kOtherParts);
    }
    for (const std::size_t i : by_node) short_by_node[i] = any_by_node = true;
    std::ranges::move(lacking, std::back_inserter(of_reservations));
  }
  if (!s.affinity) {
    of_reservations.clear();
    if (!any_by_node)
      for (const std::size_t i : rooms.short_of(s.wanted, nullptr)) short_by_node[i] = any_by_node = true;
    if (!any_by_node && parts_serve(s, view, {})) return kPass;
  }
  Reasons reasons;
  for (std::size_t i = 0; i < s.wanted.size(); ++i)
    if (short_by_node[i])
      reasons.push_back(
          fmt::format("Insufficient {} by node", context_.nodes.resources().name(s.wanted[i].resource)));
  std::ranges::sort(reasons);
  std::ranges::move(of_reservations, std::back_inserter(reasons));
  if (reasons.empty()) reasons.emplace_back(kNothingMeets);
  return verdict(s, std::move(reasons));
}

/// Held for the class: these texts name what the pod asks for, and how much there is.
VerdictId Reservations::verdict(FilterState& s, Reasons reasons) const {
  const auto [it, added] = s.verdicts.try_emplace(std::move(reasons), kPass);
  if (added) it->second = context_.verdicts.hold({context_.index, false, it->first});
  return it->second;
}

}  // namespace koord::scheduling::reservation
