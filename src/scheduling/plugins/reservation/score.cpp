// Which reservation a pod gets on a node, and which node's is the best.
#include <algorithm>
#include <array>
#include <optional>

#include "scheduling/plugins/reservation/states.hpp"

namespace koord::scheduling::reservation {

namespace {

constexpr std::int32_t kMostPreferred = 1000, kMostUsed = 100;

std::int64_t share(std::int64_t raw, std::int64_t most) { return 100 * raw / most; }

}  // namespace

/// nullptr: none of them.
const Ledger::Entry* Reservations::nominate(FilterState& state, const PodInfo& pod, const Matched& found,
                                            Row row) const {
  const RowEntries entries = found.at(row);
  if (entries.empty()) return nullptr;
  if (entries.size() == 1 && has_affinity(pod)) return entries.front();
  NodeView view(context_.nodes, row);
  take_out(entries, view);
  view.slots().put(open_rooms(entries, state.affinity, state.ignores));
  const Rooms rooms(ledger_, view, entries);
  std::vector<const Ledger::Entry*> suited;
  for (const Ledger::Entry* e : entries) {
    std::vector<std::size_t> by_node;
    if (!state.name.empty() && state.name != e->facts->name) continue;
    if (!through(state, rooms, *e, by_node).empty() || !by_node.empty()) continue;
    if (!parts_serve(state, view, e->uid)) continue;
    // They stand in the order of their labels.
    if (e->facts->order != 0) return e;
    suited.push_back(e);
  }
  return best_of(state, view, suited);
}

/// By how full they would be, and by what the parts that they keep are worth; nullptr: there is none.
const Ledger::Entry* Reservations::best_of(FilterState& state, const NodeView& view,
                                           std::span<const Ledger::Entry* const> suited) const {
  if (suited.size() < 2) return suited.empty() ? nullptr : suited.front();
  std::vector<std::int64_t> scores;
  for (const Ledger::Entry* e : suited) scores.push_back(usage_score(state.requests, *e->facts, e->taken));
  std::vector<std::int64_t> worth(suited.size());
  for (const auto& [judge, judged] : state.judges) {
    for (std::size_t i = 0; i < suited.size(); ++i) worth[i] = judge->worth(*judged, view, suited[i]->uid);
    const std::int64_t most = *std::ranges::max_element(worth);
    for (std::size_t i = 0; most > 0 && i < suited.size(); ++i) scores[i] += share(worth[i], most);
  }
  return suited[static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin())];
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

/// Raw scores of the feasible ones among the rows of which the pod may use reservations, and the largest.
template <class IsFeasible>
std::int64_t Reservations::score_matched(ScoreState& s, const PodInfo& pod, IsFeasible&& is_feasible,
                                         FewScores& out) const {
  const auto found = matched(pod);
  s.kept.move_to(*found, context_.nodes);
  out.rows.resize(found->rows.size());
  out.scores.resize(found->rows.size());
  std::vector<std::int32_t>& scores = s.kept.scores();
  std::optional<std::size_t> preferred;
  std::int64_t least = 0;
  std::int32_t most = 0;
  std::size_t n = 0;
  for (std::size_t i = 0; i < found->rows.size(); ++i) {
    const Row row = found->rows[i];
    if (!is_feasible(row)) continue;
    if (scores[i] == KeptScores::kUnknown) {
      const Ledger::Entry* const e = nominate(*s.filter, pod, *found, row);
      scores[i] =
          e == nullptr ? 0 : static_cast<std::int32_t>(usage_score(s.filter->requests, *e->facts, e->taken));
    }
    most = std::max(most, scores[i]);
    if (const std::int64_t order = s.kept.order(i); order != 0 && (!preferred || order < least)) {
      preferred = n;
      least = order;
    }
    out.rows[n] = row;
    out.scores[n++] = scores[i];
  }
  out.rows.resize(n);
  out.scores.resize(n);
  if (!preferred) return most;
  out.scores[*preferred] = kMostPreferred;
  return kMostPreferred;
}

bool Reservations::score_few(PodState& state, const PodInfo& pod, const NodeTable&,
                             std::span<const std::int32_t> slots, FewScores& out) {
  if (PreAllocation::concerns(pod)) return false;
  auto& s = static_cast<ScoreState&>(state);
  const std::int64_t most = score_matched(
      s, pod, [&](Row row) { return slots[row] >= 0; }, out);
  if (most == 0) {
    out = {};
  } else {
    // Divided once for all rows; the preferred one has the most.
    std::array<std::int32_t, kMostUsed + 1> shares;
    for (std::int32_t raw = 0; raw <= kMostUsed; ++raw)
      shares[static_cast<std::size_t>(raw)] = static_cast<std::int32_t>(share(raw, most));
    for (std::int32_t& score : out.scores)
      score = score > kMostUsed ? 100 : shares[static_cast<std::size_t>(score)];
  }
  return true;
}

bool Reservations::pre_score(PodState& state, const PodInfo& pod, const NodeTable&,
                             std::span<const Row> feasible) {
  auto& s = static_cast<ScoreState&>(state);
  s.as_it_is = PreAllocation::concerns(pod);
  if (s.as_it_is) {
    s.few = {};
    for (const auto& [row, score] : pre_allocation_.score(pod, s.filter->asked(), feasible, s.otherwise)) {
      s.few.rows.push_back(row);
      s.few.scores.push_back(static_cast<std::int32_t>(score));
    }
    return s.otherwise != 0 || !s.few.rows.empty();
  }
  auto next = feasible.begin();
  const auto is_feasible = [&](Row row) {
    next = std::lower_bound(next, feasible.end(), row);
    return next != feasible.end() && *next == row;
  };
  return score_matched(s, pod, is_feasible, s.few) != 0;
}

void Reservations::score(PodState& state, const NodeTable&, std::span<const Row> rows,
                         std::span<std::int64_t> out) const {
  const auto& s = static_cast<const ScoreState&>(state);
  // Both ascend, mostly.
  std::size_t next = 0;
  Row last = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < last) next = 0;
    last = rows[i];
    while (next < s.few.rows.size() && s.few.rows[next] < last) ++next;
    out[i] = next < s.few.rows.size() && s.few.rows[next] == last ? s.few.scores[next] : s.otherwise;
  }
}

void Reservations::normalize(PodState& state, std::span<const Row>, std::span<std::int64_t> scores) const {
  if (static_cast<const ScoreState&>(state).as_it_is) return;
  const std::int64_t most = *std::ranges::max_element(scores);
  if (most == 0) return;
  for (std::int64_t& score : scores)
    if (score != 0) score = share(score, most);
}

Status Reservations::nominate_reservation(PodAttempt& attempt) {
  const PodInfo& pod = attempt.in_place ? *attempt.in_place : attempt.pod;
  if (PreAllocation::concerns(pod)) {
    PreAllocation::Pods pods;
    Status status = pre_allocation_.nominate(attempt.row, pod, read(pod)->asked(), pods);
    auto taken = std::make_shared<RoomTakenOver>();
    for (const auto& each : pods) taken->pods.push_back(each->metadata.uid);
    attempt.pod.kept.put(std::shared_ptr<const RoomTakenOver>(pods.empty() ? nullptr : std::move(taken)));
    attempt.keep(context_.index, std::make_unique<Choice>(std::move(pods)));
    return status;
  }
  if (is_reserve_pod(*pod.pod)) return {};
  const auto found = matched(pod);
  const RowEntries entries = found->at(attempt.row);
  const bool ignores = api::ignores_reservations(pod.pod->metadata);
  const Ledger::Entry* const e =
      entries.empty() || ignores ? nullptr : nominate(*read(pod), pod, *found, attempt.row);
  // From the choice on.
  auto choice = std::make_shared<RoomChoice>();
  if (e != nullptr) choice->reservation = e->uid;
  if (!entries.empty()) choice->open = open_rooms(entries, has_affinity(pod), ignores);
  attempt.pod.kept.put(std::shared_ptr<const RoomChoice>(!entries.empty() ? std::move(choice) : nullptr));
  if (ignores) return {};
  if (e != nullptr) {
    attempt.keep(context_.index, std::make_unique<Choice>(e->uid));
  } else if (has_affinity(pod)) {
    return {StatusCode::unschedulable, kNoMatch};
  }
  return {};
}

}  // namespace koord::scheduling::reservation
