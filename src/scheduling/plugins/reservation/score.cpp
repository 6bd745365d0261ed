// Which reservation a pod gets on a node, and which node's is the best.
#include <algorithm>

#include "scheduling/plugins/reservation/states.hpp"

namespace koord::scheduling::reservation {

namespace {

constexpr std::int64_t kMostPreferred = 1000;

}  // namespace

/// nullptr: none of them.
const Ledger::Entry* Reservations::nominate(FilterState& state, const PodInfo& pod, const Matched& found,
                                            Row row) const {
  const Entries* const entries = found.at(row);
  if (entries == nullptr) return nullptr;
  if (entries->size() == 1 && has_affinity(pod)) return entries->front();
  NodeView view(context_.nodes, row);
  take_out(*entries, view);
  view.slots().put(open_rooms(*entries, state.affinity, state.ignores));
  const Rooms rooms(ledger_, view, *entries);
  const Ledger::Entry* best = nullptr;
  std::int64_t most = -1;
  for (const Ledger::Entry* e : *entries) {
    std::vector<std::size_t> by_node;
    if (!state.name.empty() && state.name != e->facts->name) continue;
    if (!through(state, rooms, *e, by_node).empty() || !by_node.empty()) continue;
    if (!parts_serve(state, view, e->uid)) continue;
    // They stand in the order of their labels.
    if (e->facts->order != 0) return e;
    const std::int64_t score = usage_score(state.requests, *e->facts, e->taken);
    if (score > most) best = e;
    most = std::max(most, score);
  }
  return best;
}

std::unique_ptr<PodState> Reservations::prepare_cross_node_score(const PodInfo& pod) {
  auto state = std::make_unique<ScoreState>();
  state->filter = read(pod);
  return state;
}

bool Reservations::may_score(PodState& state, const PodInfo& pod) {
  if (PreAllocation::concerns(pod)) return !pre_allocation_.known(pod)->rows.empty();
  return !static_cast<ScoreState&>(state).filter->ignores && !matched(pod)->rows.empty();
}

bool Reservations::pre_score(PodState& state, const PodInfo& pod, const NodeTable& nodes,
                             std::span<const Row> feasible) {
  auto& s = static_cast<ScoreState&>(state);
  s.scores.clear();
  s.as_it_is = PreAllocation::concerns(pod);
  if (s.as_it_is) {
    s.scores = pre_allocation_.score(pod, s.filter->asked(), feasible, s.otherwise);
    return s.otherwise != 0 || !s.scores.empty();
  }
  const auto found = matched(pod);
  Row preferred = kNoRow;
  std::int64_t least = 0;
  if (s.known.size() > 2 * found->rows.size() + 16) s.known.clear();
  auto next = feasible.begin();
  for (std::size_t i = 0; i < found->rows.size() && next != feasible.end(); ++i) {
    const Row row = found->rows[i];
    next = std::lower_bound(next, feasible.end(), row);
    if (next == feasible.end() || *next != row) continue;
    std::uint64_t version = 0;
    for (const Ledger::Entry* e : found->on[i]) version = mixed(mixed(version, e->serial), e->version);
    ScoreState::Known& known = s.known[row];
    if (known.row != nodes.changes(row) || known.version != version) {
      const Ledger::Entry* const e = nominate(*s.filter, pod, *found, row);
      known = {nodes.changes(row), version,
               e == nullptr ? 0 : usage_score(s.filter->requests, *e->facts, e->taken)};
    }
    s.scores.emplace_back(row, known.score);
    const std::int64_t order = found->on[i].front()->facts->order;
    if (order == 0 || (preferred != kNoRow && order >= least)) continue;
    preferred = row;
    least = order;
  }
  for (auto& [row, score] : s.scores)
    if (row == preferred) score = kMostPreferred;
  return std::ranges::any_of(s.scores, [](const auto& each) { return each.second != 0; });
}

void Reservations::score(PodState& state, const NodeTable&, std::span<const Row> rows,
                         std::span<std::int64_t> out) const {
  const auto& s = static_cast<const ScoreState&>(state);
  // Both ascend, mostly.
  auto next = s.scores.begin();
  Row last = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < last) next = s.scores.begin();
    last = rows[i];
    while (next != s.scores.end() && next->first < last) ++next;
    out[i] = next != s.scores.end() && next->first == last ? next->second : s.otherwise;
  }
}

void Reservations::normalize(PodState& state, std::span<const Row>, std::span<std::int64_t> scores) const {
  if (static_cast<const ScoreState&>(state).as_it_is) return;
  const std::int64_t most = *std::ranges::max_element(scores);
  if (most == 0) return;
  for (std::int64_t& score : scores)
    if (score != 0) score = 100 * score / most;
}

Status Reservations::nominate_reservation(PodAttempt& attempt) {
  const PodInfo& pod = attempt.in_place ? *attempt.in_place : attempt.pod;
  if (PreAllocation::concerns(pod)) {
    PreAllocation::Pods pods;
    Status status = pre_allocation_.nominate(attempt.row, pod, read(pod)->asked(), pods);
    attempt.keep(context_.index, std::make_unique<Choice>(std::move(pods)));
    return status;
  }
  if (is_reserve_pod(*pod.pod)) return {};
  const auto found = matched(pod);
  const Entries* const entries = found->at(attempt.row);
  const bool ignores = api::ignores_reservations(pod.pod->metadata);
  const Ledger::Entry* const e =
      entries == nullptr || ignores ? nullptr : nominate(*read(pod), pod, *found, attempt.row);
  // From the choice on.
  auto choice = std::make_shared<RoomChoice>();
  if (e != nullptr) choice->reservation = e->uid;
  if (entries != nullptr) choice->open = open_rooms(*entries, has_affinity(pod), ignores);
  attempt.pod.kept.put(std::shared_ptr<const RoomChoice>(entries != nullptr ? std::move(choice) : nullptr));
  if (ignores) return {};
  if (e != nullptr) {
    attempt.keep(context_.index, std::make_unique<Choice>(e->uid));
  } else if (has_affinity(pod)) {
    return {StatusCode::unschedulable, kNoMatch};
  }
  return {};
}

}  // namespace koord::scheduling::reservation
