// GroupTrial: see group_trial.hpp; and Engine::attempt_group.
#include "scheduling/engine/group_trial.hpp"

#include <algorithm>
#include <utility>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling {

namespace {

bool in_queue(Place place) {
  return place == Place::active || place == Place::backoff || place == Place::error_backoff ||
         place == Place::unschedulable;
}

}  // namespace

/// Only pods of the trial are assumed while they are in the queue, or lead.
bool GroupTrial::has(const QueuedPod& pod) const {
  return pod.place == Place::assumed &&
         std::ranges::any_of(placed_, [&](const Entry& entry) { return entry.pod == &pod; });
}

/// By somebody else than the plugin itself, whose group it may be that the others wait.
bool GroupTrial::is_kept_out(const QueuedPod& pod) const {
  return std::ranges::any_of(pod.profile->pre_enqueue, [&](const auto& gate) {
    return gate.index != by_ && !gate.plugin->may_enqueue(pod.info);
  });
}

Status GroupTrial::may_place(const QueuedPod* pod) const {
  if (pod == nullptr || pod->profile != leader_.profile)
    return {StatusCode::error, "it is no pod of the group's profile"};
  if (has(*pod)) return {StatusCode::error, "it has a place"};
  if (pod != &leader_ && !in_queue(pod->place) && (pod->place != Place::gated || is_kept_out(*pod)))
    return {StatusCode::unschedulable, "pod is not waiting to be scheduled"};
  if (pod->info.pod->metadata.deletion_timestamp) return {StatusCode::unschedulable, "pod is being deleted"};
  if (engine_.options_.extenders.in_nodes(*pod->info.pod))
    return {StatusCode::skip, "extenders have a say about the pod"};
  return {};
}

GroupTrial::~GroupTrial() {
  for (const auto& [pod, row] : std::exchange(aside_, {})) engine_.nodes_.add_pod(row, *pod);
  roll_back(0);
  asked_.reset();
  engine_.forget_transformed();
}

Placements::Placed GroupTrial::place(const api::Pod& object) { return place_on(object, kNoRow); }

Placements::Placed GroupTrial::place_on(const api::Pod& object, Row row) {
  Placed placed = find_place(object, row);
  engine_.forget_transformed();
  return placed;
}

std::vector<Placements::At> GroupTrial::places() const {
  std::vector<At> all;
  all.reserve(placed_.size());
  for (const Entry& entry : placed_) all.push_back({&entry.pod->info, entry.pod->row});
  return all;
}

const PodInfo* GroupTrial::find(const api::Pod& object) const {
  const QueuedPod* const pod = engine_.find(object);
  return pod != nullptr && pod->profile == leader_.profile ? &pod->info : nullptr;
}

const void* GroupTrial::kind_of(const api::Pod& object) {
  const QueuedPod* const pod = engine_.find(object);
  if (pod == nullptr) return nullptr;
  if (pod->profile->pre_filter_transformers.empty()) return pod->cls;
  PluginIndex by = kNoPlugin;
  // What a plugin puts into its place is asked about for itself.
  return engine_.transform(*pod->profile, pod->info, by).ok() && !engine_.transformed_ ? pod->cls : nullptr;
}

/// `admitted`: only of a pod that those admit who admit pods.
const PodAttempt* GroupTrial::ask(const api::Pod& object, bool admitted) {
  asked_.reset();
  QueuedPod* const pod = engine_.find(object);
  if (pod == nullptr || pod->profile != leader_.profile || pod->cls == nullptr) return nullptr;
  PluginIndex by = kNoPlugin;
  if (has(*pod) || !admitted ? !engine_.transform(*pod->profile, pod->info, by).ok()
                             : engine_.first_refusal(*pod->profile, pod->info).has_value())
    return nullptr;
  ClassState& state = engine_.state_of(*pod->profile, pod->cls, pod->info);
  asked_.emplace(pod->info, *pod->profile);
  asked_->look_with([&state]() -> ClassState& { return state; });
  return &*asked_;
}

void GroupTrial::set_aside(Row row, const PodInfo& pod) {
  engine_.nodes_.remove_pod(row, pod);
  aside_.emplace(&pod, row);
}

void GroupTrial::bring_back(Row row, const PodInfo& pod) {
  engine_.nodes_.add_pod(row, pod);
  aside_.erase(&pod);
}

Placements::Placed GroupTrial::find_place(const api::Pod& object, Row only) {
  asked_.reset();
  QueuedPod* const pod = engine_.find(object);
  if (Status may = may_place(pod); !may.ok()) return {kNoRow, std::move(may)};
  if (auto refusal = engine_.first_refusal(*pod->profile, pod->info)) {
    if (!refusal->status.rejected()) return {kNoRow, std::move(refusal->status)};
    Diagnosis why = engine_.diagnosis(*refusal);
    why.rejectors |= mask_of(refusal->by);
    return refuse(*pod, std::move(why), {});
  }
  const MonoTime start = engine_.clock_.mono();
  Decision d{pod->info.pod, pod->profile->scheduler_name};
  ClassState& state = engine_.state_of(*pod->profile, pod->cls, pod->info);
  d.evaluated_nodes = static_cast<std::uint32_t>(engine_.nodes_.nodes());
  d.feasible_nodes = state.feasible();
  // While room is made the trial asks for rows that may not do; who failed, and why, is known by then.
  if (only != kNoRow && !aside_.empty() && state.verdict(only) != kPass)
    return {kNoRow, {StatusCode::unschedulable, "it does not fit there"}, true};
  if (d.feasible_nodes == 0) {
    Diagnosis diagnosis = state.diagnose();
    if (!diagnosis.error.empty()) return {kNoRow, {StatusCode::error, std::move(diagnosis.error)}};
    auto detail =
        refused_ ? nullptr : engine_.details_.refused(*pod->profile, state, diagnosis, engine_.clock_.mono());
    return refuse(*pod, std::move(diagnosis), std::move(detail));
  }
  if (only != kNoRow) {
    const VerdictId verdict = state.verdict(only);
    if (verdict != kPass) {
      Diagnosis why{.nodes = engine_.nodes_.nodes()};
      if (verdict != kAbsent) why.count(engine_.verdicts_[verdict], 1);
      refusing_ |= why.rejectors;
      return {kNoRow, {StatusCode::unschedulable, fit_error(why)}, true};
    }
  } else if (d.feasible_nodes > 1) {
    if (Status status = engine_.before_score(*pod, state); !status.ok()) return {kNoRow, std::move(status)};
  }
  const Row row = only != kNoRow ? only : engine_.pick(*pod, state);
  engine_.begin_attempt(*pod, state);
  if (Status status = engine_.after_choice(*pod, row); !status.ok()) {
    engine_.unreserve(*pod);
    return {kNoRow, std::move(status)};
  }
  placed_.push_back({pod, pod->place, engine_.nominator_.node_of(pod->info), std::move(d)});
  Entry& entry = placed_.back();
  engine_.nominator_.nominate(pod->info, {});
  engine_.assume(*pod, row, entry.decision);
  if (pod->attempt)
    if (auto refusal = engine_.reserve(*pod)) {
      roll_back(placed_.size() - 1);
      refusing_ |= mask_of(refusal->by);
      return {kNoRow, std::move(refusal->status), true};
    }
  entry.decision.took = engine_.clock_.mono() - start;
  return {row, {}};
}

Placements::Placed GroupTrial::refuse(QueuedPod& pod, Diagnosis diagnosis,
                                      std::shared_ptr<AttemptDetail> detail) {
  Placed none{kNoRow, {StatusCode::unschedulable, fit_error(diagnosis)}};
  if (!refused_) refused_ = Refused{&pod, diagnosis.rejectors, std::move(diagnosis), std::move(detail)};
  return none;
}

void GroupTrial::refuse(const api::Pod& object, Diagnosis why) {
  QueuedPod* const pod = engine_.find(object);
  if (pod == nullptr || pod->profile != leader_.profile) return;
  why.rejectors |= refusing_;
  refused_ = Refused{pod, why.rejectors, std::move(why), {}};
}

void GroupTrial::roll_back(Mark to) {
  while (placed_.size() > to) {
    take_back(placed_.back());
    placed_.pop_back();
  }
}

void GroupTrial::take_back(const Entry& entry) {
  engine_.takes_back_ = true;
  engine_.unreserve(*entry.pod);
  engine_.leave_node(*entry.pod);
  engine_.takes_back_ = false;
  entry.pod->place = entry.from;
  engine_.nominator_.nominate(entry.pod->info, entry.nominated);
}

void GroupTrial::commit(std::vector<Decision>& out) {
  for (Entry& entry : std::exchange(placed_, {})) {
    QueuedPod& pod = *entry.pod;
    pod.place = entry.from;
    engine_.queue_->take(pod);
    pod.place = Place::assumed;
    if (!pod.first_attempt) pod.first_attempt = engine_.clock_.mono();
    entry.decision.attempts = pod.attempts;
    entry.decision.first_attempt = pod.first_attempt;
    pod.activated = false;
    if (pod.attempt) {
      engine_.permit(pod, entry.decision);
    } else {
      engine_.prepare_binding(pod, entry.decision);
    }
    if (pod.row != kNoRow) {
      engine_.nominator_.nominate(pod.info, entry.nominated);
      engine_.nominate(pod, {});
    }
    out.push_back(std::move(entry.decision));
  }
}

/// False: it is placed by itself.
bool Engine::attempt_group(QueuedPod& pod, std::vector<Decision>& out) {
  const auto& groups = pod.profile->groups;
  const auto by =
      std::ranges::find_if(groups, [&](const auto& p) { return p.plugin->leads_group(pod.info); });
  if (by == groups.end() || pod.info.pod->metadata.deletion_timestamp || nodes_.nodes() == 0) return false;
  const MonoTime start = clock_.mono();
  watch_.begin(pod.info.pod, pod.profile->scheduler_name, start);
  GroupTrial trial(*this, pod, by->index);
  Status status = by->plugin->place_group(pod.info, trial);
  if (status.code == StatusCode::skip) {
    watch_.end();
    return false;
  }
  if (status.ok() && !trial.has(pod)) status = {StatusCode::error, "the pod itself was given no place"};
  if (status.ok()) {
    trial.commit(out);
  } else {
    trial.roll_back(0);
    const std::optional<GroupTrial::Refused>& refused = trial.refused();
    const bool rejected = status.rejected();
    if (!rejected || !refused || refused->pod != &pod) {
      Decision d{pod.info.pod, pod.profile->scheduler_name, pod.attempts, pod.first_attempt};
      d.took = clock_.mono() - start;
      const Diagnosis why{.nodes = nodes_.nodes(),
                          .prefilter_message = status.message,
                          .postfilter_message = trial.told_leader()};
      // What the answer says of its nomination comes after.
      const Symbol nominated = nominator_.node_of(pod.info);
      if (trial.answered()) status.nomination = Nomination::keep;
      fail(pod, d, by->index, "PlaceGroup", std::move(status));
      if (trial.answered()) nominate(pod, nominated);
      if (rejected) std::get<Decision::Unschedulable>(d.outcome).message = fit_error(why);
      out.push_back(std::move(d));
    }
    if (rejected && refused)
      out.push_back(refuse_member(*refused, std::move(trial.answered()), pod, by->index, start));
  }
  watch_.end();
  return true;
}

/// Of the group that was not placed, the one for which there is no node waits for what those who refused it
/// wait for, and for what the group's plugin tells.
Decision Engine::refuse_member(const RefusedMember& refused, std::optional<PostFilterResult> answer,
                               const QueuedPod& leader, PluginIndex by, MonoTime start) {
  QueuedPod& pod = *refused.pod;
  if (&pod != &leader) queue_->take(pod);
  if (!pod.first_attempt) pod.first_attempt = start;
  Decision d{pod.info.pod, pod.profile->scheduler_name, pod.attempts, pod.first_attempt};
  d.evaluated_nodes = static_cast<std::uint32_t>(nodes_.nodes());
  d.detail = refused.detail;
  PostFilterResult done = answer ? *std::move(answer) : PostFilterResult{.nominate = Symbol()};
  Diagnosis why = refused.diagnosis;
  why.postfilter_message = std::move(done.status.message);
  if (d.detail) d.detail->postfilter_message = why.postfilter_message;
  pod.activated = false;
  pod.rejectors = refused.rejectors | mask_of(by);
  pod.rejector_key = {};
  requeue(pod, done.nominate);
  nominate_others(done.preemption);
  d.outcome = Decision::Unschedulable{.message = fit_error(why),
                                      .nominate = std::move(done.nominate),
                                      .preemption = std::move(done.preemption)};
  d.took = clock_.mono() - start;
  return d;
}

}  // namespace koord::scheduling
