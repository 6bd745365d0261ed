// Engine: one attempt to place a pod, from the choice of a node to the end of its binding; see engine.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/config/extension_point.hpp"
#include "koord/scheduling/engine/engine.hpp"

namespace koord::scheduling {

namespace {

/// From Reserve on: a plugin that has a filter of its own for each pod is asked only about those that it made
/// a state for, one that says whom it concerns about those.
bool concerns_anybody(const PodAttempt& attempt) {
  const Profile& profile = attempt.profile;
  const auto asked = [&](const auto& registrations) {
    return std::any_of(
        registrations.begin(), registrations.end(), [&](const Profile::Registration& registered) {
          const auto few =
              std::ranges::find(profile.few_pods, registered.index, &Profile::At<FewPodsPlugin>::index);
          if (few != profile.few_pods.end()) return few->plugin->follows_up(attempt.pod);
          return attempt.kept(registered.index) != nullptr ||
                 std::none_of(profile.filters.begin(), profile.filters.end(), [&](const Profile::Filter& f) {
                   return f.per_pod != nullptr && f.index == registered.index;
                 });
        });
  };
  return asked(profile.reserves) || asked(profile.permits) || asked(profile.pre_binds) ||
         asked(profile.pre_bind_reservations) || asked(profile.post_binds) || asked(profile.nominators) ||
         asked(profile.resizes);
}

/// As Decision::Unschedulable has it, of a pod that had been chosen a node for.
std::optional<Symbol> nomination_after(Nomination nomination, const Symbol& chosen) {
  switch (nomination) {
    case Nomination::clear: break;
    case Nomination::keep: return std::nullopt;
    case Nomination::force: return chosen;
  }
  return Symbol();
}

/// Who binds the pod, and how.
void choose_binder(PodAttempt& attempt, Decision::Bind& bind) {
  for (const auto& p : attempt.profile.binds) {
    if (!p.plugin->binds(attempt.pod)) continue;
    bind.binder = attempt.profile.plugin_name(p.index);
    bind.binding = p.plugin->bind(attempt);
    return;
  }
}

std::string skipped(const api::Pod& object) {
  const PlacedName name = placed_name(object);
  return fmt::format("skip schedule deleting {}: {}", name.word, text(name));
}

}  // namespace

/// What is done before the binding of a pod that all plugins permit, and as the binding.
void Engine::prepare_binding(QueuedPod& pod, Decision& d) {
  Decision::Bind& bind = std::get<Decision::Bind>(d.outcome);
  const Profile& profile = *pod.profile;
  if (!pod.attempt) {
    PodAttempt plain(pod.info, profile);
    plain.node = bind.node;
    plain.row = pod.row;
    return choose_binder(plain, bind);
  }
  const auto does = [&](PluginIndex by, std::shared_ptr<PreBindWork> work) {
    if (work) bind.pre_binds.push_back({profile.plugin_name(by), std::move(work)});
  };
  const bool writes = !profile.pod_patches.empty();
  if (writes) bind.patches = profile.plugin_name(profile.pod_patches.front().index);
  PodChanges changes;
  if (is_placeholder(*pod.info.pod)) {
    for (const auto& p : profile.pre_bind_reservations) {
      const MonoTime began = clock_.mono();
      does(p.index, p.plugin->pre_bind_reservation(*pod.attempt));
      if (writes) p.plugin->change_reservation(*pod.attempt, changes);
      took(profile, p.index, "PreBindReservation", label(StatusCode::success), clock_.mono() - began);
    }
  } else {
    for (const auto& p : profile.pre_binds) does(p.index, p.plugin->pre_bind(*pod.attempt));
    if (writes)
      for (const auto& p : profile.pre_binds) p.plugin->change_pod(*pod.attempt, changes);
  }
  if (!changes.empty()) bind.changes = std::make_shared<const PodChanges>(std::move(changes));
  choose_binder(*pod.attempt, bind);
}

std::size_t Engine::schedule(std::size_t max, std::vector<Decision>& out) {
  std::size_t done = 0;
  pass_time();
  for (; done < max; ++done) {
    tell_raised();
    if (tell_kept_out(out)) continue;
    // Those that wait hold room that others want.
    if (auto over = waits_.next(clock_.mono())) {
      out.push_back(end_wait(std::move(*over)));
      continue;
    }
    QueuedPod* pod = resume();
    if (pod == nullptr) pod = next();
    while (pod != nullptr && refused_as_before(*pod)) pod = next();
    if (pod == nullptr) break;
    if (pod->profile->groups.empty() || !attempt_group(*pod, out)) out.push_back(attempt(*pod));
  }
  tell_raised();
  return done;
}

/// The next pod that is to be told that it is kept out, and still is. False: there is none.
bool Engine::tell_kept_out(std::vector<Decision>& out) {
  while (!kept_out_.empty()) {
    QueuedPod* pod = find(*kept_out_.front());
    kept_out_.pop_front();
    if (pod == nullptr) continue;
    pod->to_be_told = false;
    if (pod->place != Place::gated) continue;
    Decision& d = out.emplace_back();
    d.pod = pod->info.pod;
    Decision::Gated gated{pod->told, pod->told_as_unschedulable};
    // More room does not help a pod that waits for something else: what it was nominated to is not kept for
    // it.
    if (!gated.unschedulable && !nominator_.node_of(pod->info).empty()) {
      nominate(*pod, {});
      gated.nominate = Symbol();
    }
    d.outcome = std::move(gated);
    d.profile = pod->profile->scheduler_name;
    d.attempts = pod->attempts;
    d.first_attempt = pod->first_attempt;
    return true;
  }
  return false;
}

std::vector<Decision> Engine::try_now(const api::Pod& object) {
  QueuedPod* pod = find(object);
  if (pod == nullptr || !queue_->take(*pod)) return {};
  std::vector<Decision> out;
  if (pod->profile->groups.empty() || !attempt_group(*pod, out)) out.push_back(attempt(*pod));
  std::ranges::stable_partition(
      out, [&](const Decision& d) { return d.pod->metadata.uid == object.metadata.uid; });
  return out;
}

Decision Engine::attempt(QueuedPod& pod) {
  const MonoTime start = clock_.mono();
  const api::Pod& object = *pod.info.pod;
  pod.activated = false;
  Decision d{pod.info.pod, pod.profile->scheduler_name, pod.attempts, pod.first_attempt};
  if (object.metadata.deletion_timestamp) {
    d.outcome = Decision::Skipped{skipped(object)};
  } else if (nodes_.nodes() == 0) {
    d.outcome = Decision::Unschedulable{.message = std::string(kNoNodesAvailable), .nominate = Symbol()};
    requeue(pod, Symbol());
  } else {
    watch_.begin(pod.info.pod, pod.profile->scheduler_name, start);
    if (const Row row = admitted(pod, d) ? choose(pod, d) : kNoRow; row != kNoRow) take(pod, row, d);
    forget_transformed();
    watch_.end();
  }
  if (pod.place != Place::asking) {
    pod.answer.reset();
    pod.questions = 0;
  }
  d.took = clock_.mono() - start;
  return d;
}

/// The pod gets the node that was chosen, if nobody has anything against it.
void Engine::take(QueuedPod& pod, Row row, Decision& d) {
  if (Status status = after_choice(pod, row); !status.ok()) {
    unreserve(pod);
    return failed(pod, d, std::move(status.message));
  }
  assume(pod, row, d);
  follow_up(pod, d);
  if (pod.row != kNoRow) nominate(pod, {});
}

/// kNoRow: there is none, and the pod is put back.
Row Engine::choose(QueuedPod& pod, Decision& d) {
  const MonoTime start = clock_.mono();
  ClassState& state = state_of(*pod.profile, pod.cls, pod.info);
  d.evaluated_nodes = static_cast<std::uint32_t>(nodes_.nodes());
  d.feasible_nodes = state.feasible();
  if (d.feasible_nodes > 1)
    if (Status status = before_score(pod, state); !status.ok()) {
      failed(pod, d, std::move(status.message));
      return kNoRow;
    }
  const bool extended = d.feasible_nodes != 0 && options_.extenders.in_nodes(*pod.info.pod);
  const Row row = d.feasible_nodes == 0 ? kNoRow
                  : extended            ? choose_with_extenders(pod, d, state)
                                        : pick(pod, state);
  d.scoring = classes_.take_scoring();
  const MonoTime now = clock_.mono();
  d.filtering = now - start - d.scoring;
  if (row == kNoRow) {
    if (d.as<Decision::Bind>() != nullptr) no_node(pod, d, state, now);
    return row;
  }
  // Of some of the nodes, scores are normalised over others than those that are known here; what extenders
  // say of them is theirs.
  if (!extended && pod.profile->percentage_of_nodes.value_or(100) >= 100)
    d.detail = details_.chosen(*pod.profile, state, row, now);
  if (d.detail) classes_.take_scoring();  // it is nobody's
  begin_attempt(pod, state);
  return row;
}

/// What its plugins keep for it from the choice on.
void Engine::begin_attempt(QueuedPod& pod, ClassState& state) {
  if (!pod.profile->follows_up()) return;
  PodAttempt attempt(pod.info, *pod.profile);
  attempt.in_place = transformed_;
  for (const Profile::Filter& f : pod.profile->filters)
    if (f.per_pod != nullptr)
      if (auto made = state.take_per_pod(f.index)) attempt.keep(f.index, std::move(made));
  if (concerns_anybody(attempt)) pod.attempt = std::make_unique<PodAttempt>(std::move(attempt));
}

/// Those that are tried before all others, in this order: its nominated node, then what a plugin prefers.
std::vector<Row> Engine::first_rows(const QueuedPod& pod) {
  std::vector<Row> rows;
  const auto add = [&](std::string_view name) {
    const Row row = nodes_.find(name);
    if (row != kNoRow && nodes_.node(row)) rows.push_back(row);
  };
  Symbol nominated = nominator_.size() != 0 ? nominator_.node_of(pod.info) : Symbol();
  if (nominated.empty()) nominated = pod.info.pod->status.nominated_node_name;
  if (!nominated.empty()) add(nominated);
  if (const auto& by = pod.profile->prefer_nodes) {
    const MonoTime began = clock_.mono();
    const std::vector<std::string> names = by->plugin->prefer_nodes(pod.info);
    took(*pod.profile, by->index, "PreferNodesPlugin",
         label(names.empty() ? StatusCode::skip : StatusCode::success), clock_.mono() - began);
    for (const std::string& name : names) add(name);
  }
  return rows;
}

Row Engine::pick(const QueuedPod& pod, ClassState& state) {
  for (const Row row : first_rows(pod))
    if (state.verdict(row) == kPass) return row;
  const auto percentage = static_cast<std::uint32_t>(pod.profile->percentage_of_nodes.value_or(100));
  if (percentage >= 100 || nodes_.nodes() < kMinFeasible) return state.pick(random_);
  const auto wanted = static_cast<std::uint32_t>(std::uint64_t{nodes_.nodes()} * percentage / 100);
  return state.pick_among(std::max(wanted, kMinFeasible), start_, random_);
}

void Engine::no_node(QueuedPod& pod, Decision& d, ClassState& state, MonoTime now) {
  state.judge_refused();  // where extenders took all that plugins had left
  Diagnosis diagnosis = state.diagnose();
  blame_extenders(pod, diagnosis, state);
  if (!diagnosis.error.empty()) {
    d.outcome = Decision::Failed{std::move(diagnosis.error), Symbol()};
    return requeue(pod, Symbol());
  }
  d.detail = details_.refused(*pod.profile, state, diagnosis, now);
  pod.rejectors = diagnosis.rejectors;
  refused(pod, d, std::move(diagnosis), [&]() -> ClassState& { return state; });
}

/// Asks those that may make room, or free the quota, and puts the pod back; its rejectors are known.
void Engine::refused(QueuedPod& pod, Decision& d, Diagnosis diagnosis, std::function<ClassState&()> look) {
  Decision::Unschedulable refused;
  if (pod.profile->post_filters.empty()) refused.nominate.emplace();
  PodAttempt attempt(pod.info, *pod.profile);
  attempt.look_with(std::move(look));
  attempt.hopeless = hopeless_;
  VictimTalk talk;
  if (talks(pod)) attempt.talk = &talk;
  if (pod.answer && pod.answer->victims) talk.answer = &*pod.answer;
  std::vector<std::string> reasons;
  const MonoTime began = clock_.mono();
  StatusCode said = StatusCode::unschedulable;
  watch_.at("PostFilter");
  for (const auto& p : pod.profile->post_filters) {
    PostFilterResult result = p.plugin->post_filter(attempt, diagnosis);
    const Status& status = result.status;
    if (!talk.candidates.empty()) {
      auto question = std::make_shared<ExtenderQuestion>();
      question->victims = std::move(talk.candidates);
      return ask(pod, d, std::move(question));
    }
    const bool error = !status.ok() && !status.rejected();
    const bool last = status.ok() || error || status.code == StatusCode::unresolvable;
    if (last) said = status.code;
    if (last) reasons.clear();
    if (!status.message.empty()) reasons.push_back(status.message);
    if (result.preemption.tried) refused.preemption = std::move(result.preemption);
    if (last || result.nominate) {
      if (error) result = {};
      refused.nominate = std::move(result.nominate);
    }
    if (last) break;
  }
  if (!pod.profile->post_filters.empty()) timed("PostFilter", said, *pod.profile, began);
  diagnosis.postfilter_message = fmt::format("{}", fmt::join(reasons, ", "));
  after_post_filter(attempt, diagnosis, {said, diagnosis.postfilter_message});
  if (d.detail) d.detail->postfilter_message = diagnosis.postfilter_message;
  refused.message = fit_error(diagnosis);
  requeue(pod, refused.nominate);
  nominate_others(refused.preemption);
  d.outcome = std::move(refused);
}

/// Members of the job that wait, at once. Who loses his nomination hears of it when it is taken back, unless
/// it is the job's own that is not written down yet.
void Engine::nominate_others(const Preemption& preemption) {
  for (const auto& [other, node] : preemption.nominations) {
    QueuedPod* const waits = find(*other);
    if (waits == nullptr || waits->row != kNoRow) continue;
    const bool unwritten = preemption.victims.empty() && waits->info.pod->status.nominated_node_name.empty();
    if (!node.empty() || unwritten) nominate(*waits, node);
  }
}

void Engine::assume(QueuedPod& pod, Row row, Decision& d) {
  d.outcome = Decision::Bind{.node = nodes_.name(row)};
  pod.row = row;
  pod.place = Place::assumed;
  ++assumed_;
  nodes_.add_pod(row, pod.info);
}

/// Reserve and Permit, of a pod that is assumed.
void Engine::follow_up(QueuedPod& pod, Decision& d) {
  if (!pod.attempt) return prepare_binding(pod, d);
  if (auto refusal = reserve(pod)) return fail(pod, d, refusal->by, "Reserve", std::move(refusal->status));
  permit(pod, d);
}

/// Who reserves nothing, and why; absent: all do.
std::optional<Engine::Refusal> Engine::reserve(QueuedPod& pod) {
  PodAttempt& attempt = *pod.attempt;
  attempt.node = nodes_.name(pod.row);
  attempt.row = pod.row;
  const MonoTime began = clock_.mono();
  watch_.at("Reserve");
  for (const auto& p : pod.profile->reserves) {
    Status status = p.plugin->reserve(attempt);
    if (status.ok()) continue;
    timed("Reserve", status.code, *pod.profile, began);
    return Refusal{p.index, std::move(status)};
  }
  if (!pod.profile->reserves.empty()) timed("Reserve", StatusCode::success, *pod.profile, began);
  return std::nullopt;
}

/// Of a pod for which everything is reserved.
void Engine::permit(QueuedPod& pod, Decision& d) {
  PodAttempt& attempt = *pod.attempt;
  Decision::Bind& bind = std::get<Decision::Bind>(d.outcome);
  const MonoTime began = clock_.mono();
  watch_.at("Permit");
  std::vector<PermitWaits::On> waits;
  for (const auto& p : pod.profile->permits) {
    auto [status, timeout, may_be_long] = p.plugin->permit(attempt);
    if (status.code == StatusCode::wait) {
      waits.push_back({p.index, may_be_long ? timeout : std::min(timeout, PermitPlugin::kMaxWait),
                       std::move(status.key)});
    } else if (!status.ok()) {
      timed("Permit", status.code, *pod.profile, began);
      return fail(pod, d, p.index, "Permit", std::move(status));
    }
  }
  if (!pod.profile->permits.empty())
    timed("Permit", waits.empty() ? StatusCode::success : StatusCode::wait, *pod.profile, began);
  bind.tells_end = true;
  if (waits.empty()) {
    prepare_binding(pod, d);
    // So that others (a cluster autoscaler) know where it will be, although it takes a while.
    if (options_.nominate_expected && bind.prepares()) bind.nominate = bind.node;
    return;
  }
  std::vector<std::string_view> names;
  names.reserve(waits.size());
  for (const PermitWaits::On& on : waits) names.push_back(pod.profile->plugin_name(on.plugin));
  Decision later = d;
  Decision::Wait wait{bind.node, {}, fmt::format("{}", fmt::join(names, ", "))};
  if (options_.nominate_expected) wait.nominate = bind.node;
  d.outcome = std::move(wait);
  pod.place = Place::waiting;
  waits_.add(pod, waits, clock_.mono(), std::move(later), meanwhile_.end());
}

/// A plugin does not let an assumed pod be bound.
void Engine::fail(QueuedPod& pod, Decision& d, PluginIndex by, std::string_view point, Status status) {
  const Symbol chosen = d.node();
  unreserve(pod);
  leave_node(pod);
  pod.place = Place::nowhere;
  if (!status.rejected()) {
    d.outcome = Decision::Failed{
        fmt::format("running {} plugin \"{}\": {}", point, pod.profile->plugin_name(by), status.message),
        Symbol()};
    return requeue(pod, Symbol());
  }
  const std::optional<Symbol> nominated = nomination_after(status.nomination, chosen);
  d.outcome =
      Decision::Unschedulable{fit_error({.nodes = 1, .reasons = {{status.message, 1}}}), nominated, {}};
  pod.rejectors = mask_of(by);
  pod.rejector_key = std::move(status.key);
  if (status.code == StatusCode::pending) pod.pending = pod.rejectors;
  requeue(pod, nominated);
}

/// After an attempt that failed; `nominated` as Decision::Unschedulable has it.
void Engine::requeue(QueuedPod& pod, const std::optional<Symbol>& nominated) {
  nominate(pod, nominated ? *nominated : pod.info.pod->status.nominated_node_name);
  // While it asked nobody told it of events.
  const bool missed = pod.questions != 0 && pod.asked_after != events_;
  const bool again = std::exchange(pod.activated, false) || missed;
  queue_->add_failed(pod, clock_.mono(), again ? Hint::queue : Hint::skip);
}

// Waits

Decision Engine::end_wait(PermitWaits::Outcome outcome) {
  QueuedPod& pod = *outcome.pod;
  Decision d = std::move(outcome.decision);
  d.pod = pod.info.pod;
  d.took += clock_.mono() - outcome.since;
  permits_.observe({label(outcome.status.code)}, clock_.mono() - outcome.since);
  if (outcome.status.ok()) {
    prepare_binding(pod, d);
    pod.place = Place::assumed;
  } else {
    const std::shared_ptr<const api::Pod> object = pod.info.pod;
    const Symbol node = d.node();
    unreserve(pod);
    leave_node(pod);
    pod.place = Place::nowhere;
    const std::optional<Symbol> nominated = nomination_after(outcome.status.nomination, node);
    d.outcome = Decision::Unschedulable{
        fit_error({.nodes = 1, .reasons = {{outcome.status.message, 1}}}), nominated, {}};
    pod.rejectors = mask_of(outcome.by);
    pod.rejector_key = std::move(outcome.status.key);
    nominator_.nominate(pod.info, nominated ? *nominated : object->status.nominated_node_name);
    const bool changed = std::exchange(pod.activated, false) || pod.outdated;
    if (pod.outdated) read_anew(pod);
    const Hint missed = meanwhile(pod, outcome.events);
    // Before it is put back: its own going does not help it.
    left(object, node);
    queue_->add_failed(pod, clock_.mono(), missed == Hint::skip && changed ? Hint::queue : missed);
  }
  meanwhile_.forget(waits_.oldest_events());
  return d;
}

/// What the events of the log from there on mean to it.
Hint Engine::meanwhile(const QueuedPod& pod, std::uint64_t from) {
  if (!meanwhile_.complete(from)) return Hint::queue;
  EventMask asked;
  for (const auto& e : pod.profile->events)
    if ((pod.rejectors & mask_of(e.index)) != 0) asked |= e.plugin->events();
  if (!meanwhile_.any(asked, from)) return Hint::skip;
  Hint found = Hint::skip;
  for (std::uint64_t n = from; n < meanwhile_.end(); ++n) {
    const ClusterEvent& event = meanwhile_.at(n).event;
    if (pod.priority > event.most_priority) continue;
    found = std::max(found, hint(pod, event));
    if (found == Hint::queue_now || (found == Hint::queue && pod.pending == 0)) break;
  }
  return found;
}

void Engine::each_waiting(const std::function<void(const PodAttempt&)>& visit) const {
  for (const QueuedPod* pod : waits_.pods()) visit(*pod->attempt);
}

void Engine::each_waiting(const RejectorKey& key, const std::function<void(const PodAttempt&)>& visit) const {
  for (const QueuedPod* pod : waits_.pods(key)) visit(*pod->attempt);
}

void Engine::resort(std::span<const std::shared_ptr<const api::Pod>> pods,
                    const std::function<void()>& change) {
  std::vector<QueuedPod*> queued;
  queued.reserve(pods.size());
  for (const auto& object : pods)
    if (QueuedPod* pod = find(*object)) queued.push_back(pod);
  std::ranges::sort(queued, {}, &QueuedPod::order);
  queued.erase(std::unique(queued.begin(), queued.end()), queued.end());
  queue_->resort(queued, change);
}

void Engine::activate(const api::Pod& object) {
  QueuedPod* pod = find(object);
  if (pod == nullptr || pod->profile == nullptr) return;
  switch (pod->place) {
    case Place::unschedulable:
    case Place::gated:
    case Place::backoff:
    case Place::error_backoff: return queue_->activate(*pod, clock_.mono());
    case Place::asking:
    case Place::nowhere:  // it is being tried
    case Place::waiting:
    case Place::assumed: pod->activated = true; return;
    case Place::active:
    case Place::bound: return;
  }
}

void Engine::back_off(const api::Pod& object) {
  if (QueuedPod* pod = find(object)) queue_->back_off(*pod, clock_.mono());
}

// What becomes of a decision

QueuedPod* Engine::find(const api::Pod& pod) {
  const auto it = pods_.find(pod_key(pod));
  return it != pods_.end() && it->second->info.pod->metadata.uid == pod.metadata.uid ? it->second.get()
                                                                                     : nullptr;
}

bool Engine::binding_failed(const api::Pod& object) {
  if (const auto gone = gone_.find(object.metadata.uid); gone != gone_.end()) {
    unreserve(*gone->second);
    gone_.erase(gone);
  }
  QueuedPod* pod = find(object);
  if (pod == nullptr) return false;
  if (pod->place == Place::bound && pod->attempt && pod->attempt->row != kNoRow) {
    // The watch knows better: only the answer was lost.
    binding_succeeded(object);
    return false;
  }
  unreserve(*pod);
  if (pod->place == Place::assumed) forget(*pod);
  if (pod->place != Place::nowhere) return false;
  if (pod->profile != profile_of(*pod->info.pod)) {
    std::shared_ptr<const api::Pod> known = pod->info.pod;
    erase(pods_.find(pod->key));
    add_pod(std::move(known));
    return false;
  }
  if (pod->outdated) read_anew(*pod);
  pod->rejectors = 0;
  nominator_.nominate(pod->info, {});
  pod->activated = false;
  queue_->add_failed(*pod, clock_.mono());
  return true;
}

void Engine::binding_succeeded(const api::Pod& object) {
  const auto gone = gone_.find(object.metadata.uid);
  QueuedPod* pod = gone != gone_.end() ? gone->second.get() : find(object);
  if (pod == nullptr || !pod->attempt) return;
  const MonoTime began = clock_.mono();
  for (const auto& p : pod->profile->post_binds) p.plugin->post_bind(*pod->attempt);
  if (!pod->profile->post_binds.empty()) timed("PostBind", StatusCode::success, *pod->profile, began);
  pod->attempt.reset();
  if (gone != gone_.end()) gone_.erase(gone);
}

void Engine::preempted(const api::Pod& object, bool all) {
  const QueuedPod* pod = find(object);
  for (const Profile& profile : profiles_)
    if (pod != nullptr ? pod->profile == &profile : object.spec.scheduler_name == profile.scheduler_name)
      for (const auto& p : profile.post_filters) p.plugin->preempted(object, all);
}

void Engine::unreserve(QueuedPod& pod) {
  if (!pod.attempt) return;
  const auto& reserves = pod.profile->reserves;
  const MonoTime began = clock_.mono();
  for (auto p = reserves.rbegin(); p != reserves.rend(); ++p) p->plugin->unreserve(*pod.attempt);
  if (!reserves.empty()) timed("Unreserve", StatusCode::success, *pod.profile, began);
  pod.attempt.reset();
}

void Engine::timed(std::string_view point, StatusCode code, const Profile& profile, MonoTime since) {
  points_.observe({point, label(code), profile.scheduler_name}, clock_.mono() - since);
}

}  // namespace koord::scheduling
