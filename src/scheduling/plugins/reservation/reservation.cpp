// Reservation: room on a node that is kept for pods to come. Reservations are placed as pods are; those that
// are for a pod are out of its way on their nodes, and it is judged (filter.cpp), scored (score.cpp) and told
// (post_filter.cpp) by what they keep.
#include "scheduling/plugins/reservation/reservation.hpp"

#include <algorithm>

#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/koordinator/scheduling.hpp"
#include "koord/api/rules/node_selector.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "scheduling/plugins/reservation/states.hpp"

namespace koord::scheduling::reservation {

namespace {

/// From here on priorities are the system's: users' pods have lower ones.
constexpr std::int32_t kSystemPriority = 2'000'000'000;

/// Whom preemption does not touch, by its label; nor by a reservation that says no priority, which comes
/// before everything, what the node itself needs.
bool is_spared(const PodInfo& victim, const PodInfo& preemptor) {
  if (api::value_or(victim.pod->metadata.labels, api::kDisablePreemptibleLabel) == "true") return true;
  return victim.priority >= kSystemPriority && preemptor.priority == ReservePods::kNoPriority;
}

struct DeltaState final : PodState {
  bool affinity = false, ignores = false;
  std::shared_ptr<const Matched> matched = {};
  // Of pods that stand for reservations with pre-allocation.
  std::optional<PreAllocation::Asked> asked = {};
  std::shared_ptr<const Candidates> candidates = {};
  std::uint64_t cycle = 0;
  /// Others may hold what it matches, too.
  std::size_t bytes() const override {
    return sizeof *this + (matched ? matched->bytes() / static_cast<std::size_t>(matched.use_count()) : 0);
  }
};

SelectorIndex make_index(const ReservationArgs& args) {
  static const SelectorIndexArgs kOff;
  const SelectorIndexArgs& of = args.reservation_selector_index ? *args.reservation_selector_index : kOff;
  return {of.enabled, of.key_prefixes, of.keys};
}

}  // namespace

Reservations::Reservations(const ReservationArgs& args, const PluginContext& context)
    : context_(context),
      objects_(context.objects.watch<api::Reservation>()),
      ledger_(context.shared.get<Ledger>(context)),
      judges_(context.shared.get<RoomJudges>()),
      ignored_{args.ignored_resources, args.ignored_resource_groups},
      index_(make_index(args)),
      omits_node_labels_(context.gate("OmitNodeLabelsForReservation")),
      pre_allocation_(context, ledger_, ignored_, omits_node_labels_, args.pre_allocation_config.get()),
      events_(objects_.events(ObjectAction::add, ObjectAction::update, ObjectAction::remove) |
              events_of(EventKind::assigned_pod_add, EventKind::assigned_pod_update,
                        EventKind::assigned_pod_label, EventKind::assigned_pod_delete)),
      no_match_(context.verdicts.intern({context.index, true, {kNoMatch}})),
      other_node_(context.verdicts.intern(
          {context.index, true, {"node(s) didn't match the nodeName specified by reservation"}})),
      conflict_(
          context.verdicts.intern({context.index, true, {"node(s) reservation allocate policy conflict"}})),
      unhelpful_(context.verdicts.intern(
          {context.index, false, {"node(s) preemption failed due to insufficient resources"}})) {
  place<api::Reservation>(context, kind_);
  if (args.enable_preemption.value_or(false))
    preemptor_ = std::make_unique<preemption::Preemptor>(
        context, preemption::Sample{*args.min_candidate_nodes_percentage, *args.min_candidate_nodes_absolute},
        &is_spared);
  controls_.collects = !args.disable_garbage_collection;
  if (args.gc_duration_seconds > 0) controls_.collect_after = std::chrono::seconds(args.gc_duration_seconds);
  if (args.gc_interval_seconds > 0) controls_.collect_every = std::chrono::seconds(args.gc_interval_seconds);
  controls_.cleans_pods = context.gate("CleanExpiredReservationAllocated");
  if (!index_.enabled()) return;
  objects_.on_change([this](const api::Reservation* before, const api::Reservation* now) {
    if (before != nullptr) index_.remove(before->metadata.uid);
    if (now != nullptr && is_active(*now))
      index_.put(now->metadata.uid, now->status.node_name, now->metadata.labels);
  });
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
  if (ledger_.no_rows() || is_reserve_pod(*pod.pod) || operates_as_reservation(*pod.pod)) return kNothing;
  const std::uint64_t nodes = context_.nodes.newest_node_change();
  if (kept_.pod == pod.pod && kept_.ledger == ledger_.version() && kept_.nodes == nodes)
    return kept_.found ? kept_.found : kNothing;
  // What nobody else reads is repaired where it is.
  kept_.found = nullptr;
  kept_ = {pod.pod, ledger_.version(), nodes, match_now(pod)};
  return kept_.found ? kept_.found : kNothing;
}

/// nullptr: none.
std::shared_ptr<const Matched> Reservations::match_now(const PodInfo& pod) const {
  const bool says_something = has_affinity(pod) || api::ignores_reservations(pod.pod->metadata) ||
                              pod.pod->metadata.annotations.contains(api::ExactMatchReservation::kAnnotation);
  if (!says_something && ledger_.reads_labels_alone()) return by_labels_.find(pod);
  Entries all;
  if (api::ignores_reservations(pod.pod->metadata)) {
    all = ledger_.usable();
  } else {
    all = ledger_.owned_by(pod);
  }
  if (all.empty()) return nullptr;
  auto wants = Wants::read(pod.pod->metadata);
  if (!wants) return nullptr;
  api::ResourceList asked = api::pod_requests(*pod.pod);
  std::optional<api::RequiredNodeAffinity> where;
  if (wants->affinity) where.emplace(pod.pod->spec);
  const Looked looked_at = looked(*wants);
  std::erase_if(all, [&](const Ledger::Entry* e) {
    const std::shared_ptr<const api::Node>& node = context_.nodes.node(e->row);
    if (!node || !looked_at.at(e->node) || (where && !where->matches(*node))) return true;
    return !serves(
        match(*wants, *e->facts, true, asked, omits_node_labels_ ? nullptr : &node->metadata.labels));
  });
  std::shared_ptr<Matched> found = by_row(std::move(all));
  if (found) found->asked = std::move(asked);
  return found;
}

Reservations::Looked Reservations::looked(const Wants& wants) const {
  if (!wants.affinity) return {};
  if (wants.affinity->name.empty()) return {{}, index_.candidates(wants.affinity->selector)};
  const std::shared_ptr<const api::Reservation> named = objects_.find({}, wants.affinity->name);
  return {named ? named->status.node_name : Symbol(), nullptr};
}

PreFilterTransformer::Before Reservations::before_pre_filter(const PodInfo& pod) {
  if (PreAllocation::concerns(pod)) return {.status = pre_allocation_.admit(pod)};
  if (pod.pod->metadata.annotations.empty() || is_reserve_pod(*pod.pod)) return {};
  if (!has_affinity(pod) && annotation(pod, api::ExactMatchReservation::kAnnotation).empty()) return {};
  const auto wants = Wants::read(pod.pod->metadata);
  if (!wants) return {.status = {StatusCode::error, wants.error().message()}};
  if (index_.enabled() && wants->affinity && wants->affinity->name.empty())
    queries_.count(index_.candidates(wants->affinity->selector));
  return {};
}

PreFilterTransformer::After Reservations::after_pre_filter(const PodInfo& pod) {
  if (PreAllocation::concerns(pod)) return pre_allocation_.narrow(pod);
  if (!has_affinity(pod) || is_reserve_pod(*pod.pod)) return {};
  const auto found = matched(pod);
  if (found->rows.empty()) return {.status = {StatusCode::unresolvable, kNoMatch}};
  std::vector<std::string> names;
  for (const Row row : found->rows) names.push_back(context_.nodes.name(row).str());
  return {.only_nodes = std::move(names)};
}

// How the pod sees their nodes

std::unique_ptr<PodState> Reservations::prepare_deltas(const PodInfo& pod) {
  const bool pre_allocates = PreAllocation::concerns(pod);
  if (is_reserve_pod(*pod.pod) && !pre_allocates) return nullptr;
  auto state = std::make_unique<DeltaState>();
  if (pre_allocates) state->asked = read(pod)->asked();
  state->affinity = has_affinity(pod);
  state->ignores = api::ignores_reservations(pod.pod->metadata);
  return state;
}

std::span<const Row> Reservations::delta_rows(PodState& state, const PodInfo& pod) {
  auto& s = static_cast<DeltaState&>(state);
  if (s.asked) {
    s.candidates = pre_allocation_.find(pod);
    ++s.cycle;
    return s.candidates->rows;
  }
  s.matched = nullptr;
  s.matched = matched(pod);
  return s.matched->rows;
}

std::uint64_t Reservations::delta_version(const PodState& state, Row row) const {
  const auto& s = static_cast<const DeltaState&>(state);
  if (s.asked) return s.cycle;
  return version_of(s.matched->at(row));
}

std::uint64_t Reservations::delta_key(const PodState& state) const {
  const auto& s = static_cast<const DeltaState&>(state);
  return s.asked ? 0 : s.matched->serial;
}

void Reservations::apply(const PodState& state, NodeView& view) const {
  const auto& s = static_cast<const DeltaState&>(state);
  if (s.asked) return pre_allocation_.apply(s.candidates, *s.asked, view);
  const RowEntries entries = s.matched->at(view.row());
  take_out(entries, view);
  view.slots().put(open_rooms(entries, s.affinity, s.ignores));
  view.slots().put(std::make_shared<const Seen>(Seen{{entries.begin(), entries.end()}}));
}

// Reserve, PreBind, Bind

bool Reservations::follows_up(const PodInfo& pod) const {
  return has_affinity(pod) ||
         pod.pod->metadata.annotations.contains(api::ReservationAllocated::kAnnotation) ||
         is_reserve_pod(*pod.pod) || !matched(pod)->rows.empty();
}

Status Reservations::reserve(PodAttempt& attempt) {
  auto* const choice = static_cast<Choice*>(attempt.kept(context_.index));
  if (choice == nullptr) return {};
  if (is_reserve_pod(*attempt.pod.pod)) return pre_allocation_.reserve(attempt, choice->taken_over);
  const Ledger::Entry* const e = ledger_.find(choice->uid);
  if (e == nullptr || !e->usable() || e->row != attempt.row)
    return {StatusCode::error, "cannot find target reservation"};
  ledger_.assume(attempt.pod, attempt.row, *e);
  choice->assumed = true;
  return {};
}

void Reservations::unreserve(PodAttempt& attempt) {
  const auto* const choice = static_cast<const Choice*>(attempt.kept(context_.index));
  if (choice != nullptr) pre_allocation_.unreserve(choice->taken_over);
  ledger_.forget(attempt.pod);
  attempt.pod.kept.put(std::shared_ptr<const RoomChoice>());
}

std::shared_ptr<PreBindWork> Reservations::pre_bind_reservation(PodAttempt& attempt) {
  const auto* const choice = static_cast<const Choice*>(attempt.kept(context_.index));
  return choice != nullptr ? pre_allocation_.pre_bind(attempt, choice->taken_over) : nullptr;
}

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
  switch (event.kind) {
    case EventKind::assigned_pod_delete: return true;
    case EventKind::assigned_pod_add:
    case EventKind::assigned_pod_update:
    case EventKind::assigned_pod_label: return operates_as_reservation(*event.new_pod);
    default: break;
  }
  const auto says = [](const void* object) {
    return object != nullptr && is_available(*static_cast<const api::Reservation*>(object));
  };
  return says(event.old_object) || says(event.new_object);
}

}  // namespace koord::scheduling::reservation

namespace koord::scheduling {

extern const PluginEntry kReservation{
    .name = "Reservation",
    .args = &args_type<reservation::ReservationArgs>,
    .make = &make_with<reservation::Reservations, reservation::ReservationArgs>};

}  // namespace koord::scheduling
