// Reservation: room on a node that is kept for pods to come. Reservations are placed as pods are; those that
// are for a pod are out of its way on their nodes, and it is judged, scored and told by what they keep.
#include "scheduling/plugins/reservation/reservation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/rules/node_selector.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/scheduling/classes/class_state.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "scheduling/plugins/reservation/why_not.hpp"

namespace koord::scheduling::reservation {

namespace {

constexpr const char* kNoMatch = "node(s) no reservations match reservation affinity";
constexpr const char* kNothingMeets = "node(s) no reservation(s) to meet the requirements";
constexpr std::int64_t kMostPreferred = 1000;

std::string_view annotation(const PodInfo& pod, std::string_view key) {
  return api::value_or(pod.pod->metadata.annotations, key);
}

/// Whether it says that it wants one, even if only with an empty text.
bool has_affinity(const PodInfo& pod) {
  return pod.pod->metadata.annotations.contains(api::ReservationAffinity::kAnnotation);
}

Policy policy_of(std::string_view text) {
  return text == "Aligned" ? Policy::aligned : text == "Restricted" ? Policy::restricted : Policy::none;
}

struct DeltaState final : PodState {
  std::shared_ptr<const Matched> matched;
};

/// What the pod is given, from the choice of its node on; nullptr: no reservation.
struct Choice final : PodState {
  explicit Choice(std::string of) : uid(std::move(of)) {}
  std::string uid;
  bool assumed = false;
};

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) { return (a ^ (b + 1)) * 0x9E3779B97F4A7C15u; }

}  // namespace

struct Reservations::FilterState final : PodState {
  explicit FilterState(VerdictTable& t) : table(t) {}
  ~FilterState() override {
    for (const auto& [reasons, id] : verdicts) table.release(id);
  }
  FilterState(const FilterState&) = delete;
  FilterState& operator=(const FilterState&) = delete;

  VerdictTable& table;
  std::vector<Amount> wanted = {};  // none zero or ignored
  api::ResourceList requests = {};
  bool reserves = false;  // it is a reservation, or a pod that is one
  Symbol node = {};       // the one that its template names
  Policy policy = Policy::none;
  bool affinity = false, ignores = false;
  std::string name = {};                       // of the reservation that it wants
  std::map<Reasons, VerdictId> verdicts = {};  // held
};

struct Reservations::ScoreState final : PodState {
  struct Known {
    std::uint64_t row = 0, version = 0;
    std::int64_t score = 0;
  };
  std::unique_ptr<FilterState> filter;
  std::unordered_map<Row, Known> known;
  std::vector<std::pair<Row, std::int64_t>> scores;  // of this cycle, ascending, none zero
};

Reservations::Reservations(const ReservationArgs& args, const PluginContext& context)
    : context_(context),
      ledger_(context.shared.get<Ledger>(context)),
      ignored_{args.ignored_resources, args.ignored_resource_groups},
      omits_node_labels_(context.gate("OmitNodeLabelsForReservation")),
      events_(context.objects.watch<api::Reservation>().events(ObjectAction::add, ObjectAction::update,
                                                               ObjectAction::remove) |
              events_of(EventKind::assigned_pod_delete)),
      no_match_(context.verdicts.intern({context.index, true, {kNoMatch}})),
      other_node_(context.verdicts.intern(
          {context.index, true, {"node(s) didn't match the nodeName specified by reservation"}})),
      conflict_(
          context.verdicts.intern({context.index, true, {"node(s) reservation allocate policy conflict"}})),
      unhelpful_(context.verdicts.intern(
          {context.index, false, {"node(s) preemption failed due to insufficient resources"}})) {
  place<api::Reservation>(context, kind_);
  controls_.collects = !args.disable_garbage_collection;
  if (args.gc_duration_seconds > 0) controls_.collect_after = std::chrono::seconds(args.gc_duration_seconds);
  if (args.gc_interval_seconds > 0) controls_.collect_every = std::chrono::seconds(args.gc_interval_seconds);
  controls_.cleans_pods = context.gate("CleanExpiredReservationAllocated");
}

bool Reservations::sign(const PodInfo& pod, Signature& signature) const {
  const Requests& r = pod.requests;
  for (const std::int64_t n : {r.cpu, r.memory, r.storage}) signature.add(n);
  for (const Amount& a : r.scalars) {
    signature.add(a.resource);
    signature.add(a.amount);
  }
  const bool reserve = is_reserve_pod(*pod.pod);
  signature.add((reserve ? 4 : 0) + (has_affinity(pod) ? 2 : 0) +
                (api::ignores_reservations(pod.pod->metadata) ? 1 : 0));
  if (has_affinity(pod)) signature.add(annotation(pod, api::ReservationAffinity::kAnnotation));
  signature.add(api::value_or(pod.pod->metadata.labels, api::kOperatingModeLabel));
  if (reserve)
    for (const std::string_view key :
         {api::kReservePodNode, api::kReservePodPolicy, api::kReservePodPreAllocates})
      signature.add(annotation(pod, key));
  return true;
}

// Which reservations are for a pod

std::shared_ptr<const Matched> Reservations::matched(const PodInfo& pod) const {
  static const auto kNothing = std::make_shared<const Matched>();
  if (ledger_.rows().empty() || is_reserve_pod(*pod.pod)) return kNothing;
  const std::uint64_t nodes = context_.nodes.newest_node_change();
  if (kept_.pod != pod.pod || kept_.ledger != ledger_.version() || kept_.nodes != nodes)
    kept_ = {pod.pod, ledger_.version(), nodes, match_now(pod)};
  return kept_.found ? kept_.found : kNothing;
}

/// nullptr: none.
std::shared_ptr<const Matched> Reservations::match_now(const PodInfo& pod) const {
  Entries all;
  if (api::ignores_reservations(pod.pod->metadata)) {
    for (const auto& [row, entries] : ledger_.rows())
      std::ranges::copy_if(entries, std::back_inserter(all), &Ledger::Entry::usable);
  } else {
    all = ledger_.owned_by(pod);
  }
  if (all.empty()) return nullptr;
  auto wants = Wants::read(pod.pod->metadata);
  if (!wants) return nullptr;
  auto found = std::make_shared<Matched>();
  found->asked = api::pod_requests(*pod.pod);
  std::optional<api::RequiredNodeAffinity> where;
  if (wants->affinity) where.emplace(pod.pod->spec);
  std::erase_if(all, [&](const Ledger::Entry* e) {
    const std::shared_ptr<const api::Node>& node = context_.nodes.node(e->row);
    if (!node || (where && !where->matches(*node))) return true;
    return !serves(
        match(*wants, *e->facts, true, found->asked, omits_node_labels_ ? nullptr : &node->metadata.labels));
  });
  if (all.empty()) return nullptr;
  std::ranges::sort(all, [](const Ledger::Entry* a, const Ledger::Entry* b) {
    const auto key = [](const Ledger::Entry* e) {
      return std::tuple(e->row, e->facts->order == 0, e->facts->order, std::string_view(e->facts->name));
    };
    return key(a) < key(b);
  });
  for (const Ledger::Entry* e : all) {
    if (found->rows.empty() || found->rows.back() != e->row) {
      found->rows.push_back(e->row);
      found->on.emplace_back();
    }
    found->on.back().push_back(e);
  }
  return found;
}

PreFilterTransformer::Before Reservations::before_pre_filter(const PodInfo& pod) {
  if (pod.pod->metadata.annotations.empty() || is_reserve_pod(*pod.pod)) return {};
  if (!has_affinity(pod) && annotation(pod, api::ExactMatchReservation::kAnnotation).empty()) return {};
  if (auto wants = Wants::read(pod.pod->metadata); !wants)
    return {.status = {StatusCode::error, wants.error().message()}};
  return {};
}

PreFilterTransformer::After Reservations::after_pre_filter(const PodInfo& pod) {
  if (!has_affinity(pod) || is_reserve_pod(*pod.pod)) return {};
  const auto found = matched(pod);
  if (found->rows.empty()) return {.status = {StatusCode::unresolvable, kNoMatch}};
  std::vector<std::string> names;
  for (const Row row : found->rows) names.push_back(context_.nodes.name(row).str());
  return {.only_nodes = std::move(names)};
}

// How the pod sees their nodes

std::unique_ptr<PodState> Reservations::prepare_deltas(const PodInfo& pod) {
  if (is_reserve_pod(*pod.pod)) return nullptr;
  return std::make_unique<DeltaState>();
}

std::span<const Row> Reservations::delta_rows(PodState& state, const PodInfo& pod) {
  auto& s = static_cast<DeltaState&>(state);
  s.matched = matched(pod);
  return s.matched->rows;
}

std::uint64_t Reservations::delta_version(const PodState& state, Row row) const {
  std::uint64_t version = 0;
  for (const Ledger::Entry* e : *static_cast<const DeltaState&>(state).matched->at(row))
    version = mixed(mixed(version, e->serial), e->version);
  return version;
}

void Reservations::apply(const PodState& state, NodeView& view) const {
  const Entries& entries = *static_cast<const DeltaState&>(state).matched->at(view.row());
  take_out(entries, view);
  view.slots().put(std::make_shared<const Seen>(Seen{entries}));
}

// Filter

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
  } else if (api::value_or(pod.pod->metadata.labels, api::kOperatingModeLabel) == "Reservation") {
    state->reserves = true;
    state->policy = Policy::aligned;
  }
  return state;
}

FilterPlugin::Prepared Reservations::prepare_filter(const PodInfo& pod) {
  Prepared prepared;
  if (is_reserve_pod(*pod.pod) && !annotation(pod, api::kReservePodPreAllocates).empty())
    prepared.rejected = "reservation asks for pre-allocation, which koord does not do yet";
  prepared.state = read(pod);
  return prepared;
}

VerdictId Reservations::judge_reserve_pod(const FilterState& state, Row row) const {
  if (!state.node.empty() && context_.nodes.name(row) != state.node) return other_node_;
  for (const Ledger::Entry* e : ledger_.on(row))
    if (e->usable() && (e->facts->policy == Policy::none || state.policy == Policy::none) &&
        e->facts->policy != state.policy)
      return conflict_;
  return kPass;
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

VerdictId Reservations::filter_view(PodState* state, const NodeTable&, const NodeView& view) const {
  auto& s = *static_cast<FilterState*>(state);
  if (s.reserves)
    if (const VerdictId said = judge_reserve_pod(s, view.row()); said != kPass) return said;
  const Seen* const seen = view.slots().find<const Seen>();
  if (seen == nullptr && s.affinity) return no_match_;
  if (ledger_.idle() || s.ignores) return kPass;
  static const Entries kNone;
  const Rooms rooms(ledger_, view, seen != nullptr ? seen->entries : kNone);
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
    if (by_node.empty() && lacking.empty()) return kPass;
    for (const std::size_t i : by_node) short_by_node[i] = any_by_node = true;
    std::ranges::move(lacking, std::back_inserter(of_reservations));
  }
  if (!s.affinity) {
    of_reservations.clear();
    if (!any_by_node)
      for (const std::size_t i : rooms.short_of(s.wanted, nullptr)) short_by_node[i] = any_by_node = true;
    if (!any_by_node) return kPass;
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

// PostFilter

PostFilterResult Reservations::post_filter(PodAttempt& attempt, const Diagnosis& diagnosis) {
  const PodInfo& pod = attempt.in_place ? *attempt.in_place : attempt.pod;
  PostFilterResult result{.status = {StatusCode::unschedulable, {}}};
  auto wants = Wants::read(pod.pod->metadata);
  if (!wants || wants->ignores || is_reserve_pod(*pod.pod)) return result;
  WhyNot why;
  const api::RequiredNodeAffinity where(pod.pod->spec);
  const api::ResourceList asked = api::pod_requests(*pod.pod);
  for (const Ledger::Entry* e : ledger_.owned_by(pod)) {
    const std::shared_ptr<const api::Node>& node = context_.nodes.node(e->row);
    if (!node || !where.matches(*node)) continue;
    const api::Taint* taint = nullptr;
    const Match said =
        match(*wants, *e->facts, true, asked, omits_node_labels_ ? nullptr : &node->metadata.labels, &taint);
    why.count(said, taint, [&] {
      if (!diagnosis.prefilter_message.empty()) return Reasons{diagnosis.prefilter_message};
      Reasons reasons = context_.verdicts[attempt.state().verdict(e->row)].reasons;
      const auto own = [](const std::string& reason) { return reason.starts_with("Reservation(s) "); };
      if (std::ranges::any_of(reasons, own)) reasons.clear();
      return reasons;
    });
  }
  result.status.message = fmt::format("{}", fmt::join(why.reasons(wants->affinity.has_value()), ", "));
  return result;
}

// Score, and which reservation the pod gets

/// nullptr: none of them.
const Ledger::Entry* Reservations::nominate(FilterState& state, const PodInfo& pod, const Matched& found,
                                            Row row) const {
  const Entries* const entries = found.at(row);
  if (entries == nullptr) return nullptr;
  if (entries->size() == 1 && has_affinity(pod)) return entries->front();
  NodeView view(context_.nodes, row);
  take_out(*entries, view);
  const Rooms rooms(ledger_, view, *entries);
  const Ledger::Entry* best = nullptr;
  std::int64_t most = -1;
  for (const Ledger::Entry* e : *entries) {
    std::vector<std::size_t> by_node;
    if (!state.name.empty() && state.name != e->facts->name) continue;
    if (!through(state, rooms, *e, by_node).empty() || !by_node.empty()) continue;
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
  return !static_cast<ScoreState&>(state).filter->ignores && !matched(pod)->rows.empty();
}

bool Reservations::pre_score(PodState& state, const PodInfo& pod, const NodeTable& nodes,
                             std::span<const Row> feasible) {
  auto& s = static_cast<ScoreState&>(state);
  s.scores.clear();
  const auto found = matched(pod);
  Row preferred = kNoRow;
  std::int64_t least = 0;
  if (s.known.size() > 2 * found->rows.size() + 16) s.known.clear();
  for (std::size_t i = 0; i < found->rows.size(); ++i) {
    const Row row = found->rows[i];
    if (!std::ranges::binary_search(feasible, row)) continue;
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
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto it =
        std::ranges::lower_bound(s.scores, rows[i], {}, [](const auto& each) { return each.first; });
    out[i] = it != s.scores.end() && it->first == rows[i] ? it->second : 0;
  }
}

void Reservations::normalize(PodState&, std::span<const Row>, std::span<std::int64_t> scores) const {
  const std::int64_t most = *std::ranges::max_element(scores);
  if (most == 0) return;
  for (std::int64_t& score : scores) score = 100 * score / most;
}

// Reserve, PreBind, Bind

bool Reservations::follows_up(const PodInfo& pod) const {
  return has_affinity(pod) ||
         pod.pod->metadata.annotations.contains(api::ReservationAllocated::kAnnotation) ||
         is_reserve_pod(*pod.pod) || !matched(pod)->rows.empty();
}

Status Reservations::nominate_reservation(PodAttempt& attempt) {
  const PodInfo& pod = attempt.in_place ? *attempt.in_place : attempt.pod;
  if (is_reserve_pod(*pod.pod) || api::ignores_reservations(pod.pod->metadata)) return {};
  const auto found = matched(pod);
  const Ledger::Entry* const e =
      found->at(attempt.row) == nullptr ? nullptr : nominate(*read(pod), pod, *found, attempt.row);
  if (e != nullptr) {
    attempt.keep(context_.index, std::make_unique<Choice>(e->uid));
  } else if (has_affinity(pod)) {
    return {StatusCode::unschedulable, kNoMatch};
  }
  return {};
}

Status Reservations::reserve(PodAttempt& attempt) {
  auto* const choice = static_cast<Choice*>(attempt.kept(context_.index));
  if (choice == nullptr) return {};
  const Ledger::Entry* const e = ledger_.find(choice->uid);
  if (e == nullptr || !e->usable() || e->row != attempt.row)
    return {StatusCode::error, "cannot find target reservation"};
  ledger_.assume(attempt.pod, attempt.row, *e);
  choice->assumed = true;
  return {};
}

void Reservations::unreserve(PodAttempt& attempt) { ledger_.forget(attempt.pod); }

/// What another attempt has left there goes.
void Reservations::change_pod(PodAttempt& attempt, PodChanges& changes) {
  const auto* const choice = static_cast<const Choice*>(attempt.kept(context_.index));
  const std::string key(api::ReservationAllocated::kAnnotation);
  if (choice != nullptr && choice->assumed) {
    const Ledger::Entry* const e = ledger_.find(choice->uid);
    api::ReservationAllocated given;
    given.name = e != nullptr && e->facts ? e->facts->name : std::string();
    given.uid = choice->uid;
    changes.annotations[key] = api::encode_annotation(given);
  } else if (attempt.pod.pod->metadata.annotations.contains(key)) {
    changes.removed_annotations.push_back(key);
  }
}

std::shared_ptr<BindWork> Reservations::bind(PodAttempt&) { return reservation::bind(kind_); }

std::unique_ptr<PluginController> Reservations::make_controller(kube::InformerSet& informers,
                                                                kube::Client& client) {
  return reservation::make_controller(controls_, informers, client);
}

bool Reservations::worth_retrying(const PodInfo&, const ClusterEvent& event) const {
  if (event.kind == EventKind::assigned_pod_delete) return true;
  const auto says = [](const void* object) {
    return object != nullptr && is_available(*static_cast<const api::Reservation*>(object));
  };
  return says(event.old_object) || says(event.new_object);
}

}  // namespace koord::scheduling::reservation
