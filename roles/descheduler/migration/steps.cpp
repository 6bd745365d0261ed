// Controller: one job, step by step. See controller.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "koord/api/koordinator/descheduling.hpp"
#include "koord/api/koordinator/migration.hpp"
#include "koord/api/koordinator/reservation.hpp"
#include "koord/base/text.hpp"
#include "koord/json/value.hpp"
#include "migration/controller.hpp"
#include "migration/jobs/turns.hpp"
#include "migration/reservation_template.hpp"

namespace koord::descheduler::migration {

namespace {

using Act = Step::Act;

constexpr int kMostSteps = 16;  // of one job before others have their turn
constexpr std::chrono::seconds kNotLeading{1};
/// Until it is asked again whether another pod still comes to a pod's node.
constexpr std::chrono::seconds kAwaited{1};

bool has_passed(const api::PodMigrationJob& job) {
  return api::value_or(job.metadata.annotations, api::kPassedArbitrationAnnotation) == "true";
}

/// What people and drains want moved goes where they want it to go.
bool is_by_plugin(const api::PodMigrationJob& job) {
  return job.metadata.annotations.contains(api::kJobProfileAnnotation);
}

/// The pod's own policy, else the job's, where there is one of that name; else the configuration's.
EvictionPolicy policy_of(const api::Pod& pod, const api::PodMigrationJob& job, EvictionPolicy otherwise) {
  std::string_view name = api::value_or(pod.metadata.labels, api::kEvictPolicyLabel);
  if (name.empty()) name = api::value_or(job.metadata.labels, api::kEvictPolicyLabel);
  return eviction_policy(name).value_or(otherwise);
}

}  // namespace

Controller::Again Controller::until(std::optional<WallTime> end, Again sooner) const {
  if (!end) return sooner;
  const nanoseconds left = *end - parts_.clock.now();
  return sooner ? std::min(*sooner, left) : left;
}

/// Of each reservation another one: milliseconds, of which the label tells.
WallTime Controller::next_order() {
  return last_order_ = std::max<WallTime>(parts_.clock.now(), last_order_ + std::chrono::milliseconds(1));
}

/// One that is made and not written down has the job's UID for its name.
std::shared_ptr<const api::Reservation> Controller::room_of(const api::PodMigrationJob& job) const {
  const auto& options = job.spec.reservation_options;
  return parts_.reservations.get(
      {}, options && options->reservation_ref ? options->reservation_ref->name : job.metadata.uid);
}

bool Controller::has_turn(const api::PodMigrationJob& job, const api::Reservation& own) const {
  const std::string_view workload = workload_of(job);
  if (workload.empty()) return true;
  return std::ranges::none_of(book_.of_workload(workload), [&](const std::string& name) {
    const JobPtr other = book_.find(name);
    if (name == job.metadata.name || !other) return false;
    return goes_before(*other, room_of(*other).get(), own);
  });
}

Spare Controller::spare_room_for(const JobPtr& job, const Held& held) const {
  const api::OwnerReference* const workload = api::controller_of(held.pod->metadata);
  const api::OwnerReference* const takers =
      held.successor ? api::controller_of(held.successor->metadata) : nullptr;
  if (!workload || !takers || takers->uid != workload->uid) return Spare::none;
  const Workload known = parts_.workloads.find(*workload, held.pod->metadata.namespace_.view());
  if (!known.known) return Spare::perhaps;
  std::vector<Migration> others;
  for (const std::string& name : book_.of_workload(workload->uid.view())) {
    const JobPtr other = book_.find(name);
    if (!other || name == job->metadata.name) continue;
    Migration& one =
        others.emplace_back(Migration{.job = other, .room = room_of(*other), .pod = pod_of(*other)});
    if (one.room && comes_back(*job, *one.room)) one.room = nullptr;
    if (const auto it = locals_.find(other->metadata.uid); it != locals_.end()) {
      one.asked = it->second.asked.has_value();
      if (it->second.pod_gone) one.pod = nullptr;
    }
  }
  // As of a Deployment, those of all its ReplicaSets.
  std::vector<PodPtr> pods;
  for (const std::string& owner : known.owners) {
    const std::vector<PodPtr> its = parts_.workloads.pods_of(owner);
    pods.insert(pods.end(), its.begin(), its.end());
  }
  return spare_room({.job = job, .room = held.reservation, .pod = held.pod}, others, pods, known.replicas);
}

/// That pods of the job's workload have left a moment ago, or are about to.
std::vector<std::string> Controller::nodes_to_avoid(const api::PodMigrationJob& job) const {
  const std::string_view workload = workload_of(job);
  if (workload.empty() || !is_by_plugin(job)) return {};
  std::vector<std::string> nodes = left_.of(workload, parts_.clock.now());
  for (const std::string& name : book_.of_workload(workload))
    if (const JobPtr other = book_.find(name); other && !from_node(*other).empty())
      nodes.emplace_back(from_node(*other));
  std::ranges::sort(nodes);
  const auto twice = std::ranges::unique(nodes);
  nodes.erase(twice.begin(), twice.end());
  return nodes;
}

Task<Result<Controller::Again>> Controller::advance(std::string name) {
  for (int steps = 0; steps < kMostSteps; ++steps) {
    const JobPtr job = book_.find(name);
    if (!job) co_return Again();
    if (is_finished(*job)) co_return co_await release_unused(job);
    if (!parts_.may_write()) co_return Again(kNotLeading);
    KOORD_CO_TRY(again, co_await take_step(job));
    if (again) co_return *again;
  }
  co_return Again(nanoseconds(1));
}

/// Of the very version that is known, which nobody has used.
Task<Result<Controller::Again>> Controller::release_unused(JobPtr job) {
  const auto room = unused_room(*job);
  if (!room) co_return Again();
  if (!parts_.may_write()) co_return Again(kNotLeading);
  KOORD_CO_CHECK(co_await writes_.release(room->metadata.name, room->metadata.uid,
                                          room->metadata.resource_version, job,
                                          "the job is over without it"));
  co_return Again();
}

Task<Result<std::optional<Controller::Again>>> Controller::take_step(JobPtr job) {
  const Decision decision = book_.decision(job->metadata.name);
  if (decision == Decision::forbidden) co_return co_await forbid(std::move(job));
  if (decision == Decision::passed) co_return co_await let_pass(std::move(job));
  KOORD_CO_TRY(held, co_await look(job));
  if (held.has_lost_its_room()) held.spare = spare_room_for(job, held);
  // Woken by what happens to the others' jobs and rooms.
  if (held.spare == Spare::perhaps) lines_[std::string(workload_of(*job))].insert(job->metadata.name);
  Profile& profile = profile_of(*job);
  Step step = next_step(*job, held.scene(), profile.args->default_job_mode, parts_.clock.now());
  const bool begins_eviction = step.event && step.event->reason == "Evicting" && !step.event->warning;
  Local& local = locals_[job->metadata.uid];
  if ((begins_eviction || step.act == Act::kCreateReservation) && held.pod && !local.counted &&
      !job->metadata.annotations.contains(api::kEvictAnnotation)) {
    if (const nanoseconds wait = held_back(*held.pod, profile); wait.count() > 0)
      co_return std::optional(until(ends_at(*job), wait));
  }
  if (begins_eviction && held.reservation && !has_turn(*job, *held.reservation)) {
    lines_[std::string(workload_of(*job))].insert(job->metadata.name);
    co_return std::optional(until(ends_at(*job)));
  }
  if (begins_eviction && held.pod && is_by_plugin(*job) && is_awaited_there(*held.pod))
    co_return std::optional(until(ends_at(*job), kAwaited));
  if (begins_eviction && held.reservation && !held.has_lost_its_room() && comes_back(*job, *held.reservation))
    co_return co_await give_up_room(std::move(job));
  if (begins_eviction && held.pod && !local.counted) {
    local.counted = true;
    const api::OwnerReference* owner = api::controller_of(held.pod->metadata);
    count_eviction(owner ? owner->uid.view() : std::string_view(), held.pod->metadata.namespace_.view(),
                   parts_.clock.now());
  }
  // One that the user has made takes part in the order of those that are made here.
  if (held.reservation && has_passed(*job) && !local.ordered &&
      !held.reservation->metadata.labels.contains(api::kReservationOrderLabel)) {
    KOORD_CO_CHECK(co_await writes_.set_order(held.reservation, job, next_order()));
    locals_[job->metadata.uid].ordered = true;
  }
  switch (step.act) {
    case Act::kWait: co_return std::optional(until(step.wake_at));
    case Act::kPinPod: {
      api::PodMigrationJob after = *job;
      after.spec.pod_ref->uid = held.pod->metadata.uid;
      co_return co_await settle(job, co_await writes_.change(job, std::move(after), "the pod that it means"),
                                {});
    }
    case Act::kCreateReservation: co_return co_await reserve(std::move(job));
    case Act::kEvict: co_return co_await evict(std::move(job), std::move(held.pod), step.wake_at);
    case Act::kDeleteReservation: {
      const api::ObjectReference& ref = *job->spec.reservation_options->reservation_ref;
      KOORD_CO_CHECK(co_await writes_.release(ref.name, ref.uid, {}, job, "the job's time is over"));
      break;
    }
    case Act::kWriteStatus: break;
  }
  co_return co_await write(std::move(job), std::move(step));
}

/// A node that was not avoided: a pod of the workload has left it since the reservation was made.
bool Controller::comes_back(const api::PodMigrationJob& job, const api::Reservation& room) const {
  return is_by_plugin(job) && api::value_or(room.metadata.labels, kCreatedByLabel) == kCreator &&
         left_.has(workload_of(job), room.status.node_name.view(), parts_.clock.now());
}

Task<Result<std::optional<Controller::Again>>> Controller::give_up_room(JobPtr job) {
  const api::ObjectReference& ref = *job->spec.reservation_options->reservation_ref;
  KOORD_CO_CHECK(co_await writes_.release(ref.name, ref.uid, {}, job, "the workload has just left the node"));
  Step step{.act = Act::kWriteStatus, .status = job->status, .event = {}, .wake_at = {}};
  step.status->phase = "Failed";
  step.status->reason = "ForbiddenMigratePod";
  step.status->message =
      fmt::format("Reservation is on Node {}, which a Pod of the same workload has just left",
                  quote(job->status.node_name.view()));
  step.event = JobEvent{true, "ForbiddenMigratePod", step.status->message};
  co_return co_await write(std::move(job), std::move(step));
}

/// What a decision of the arbitrator comes to, while it is still the newest.
Task<Result<std::optional<Controller::Again>>> Controller::let_pass(JobPtr job) {
  api::PodMigrationJob after = *job;
  after.metadata.annotations[api::kPassedArbitrationAnnotation] = "true";
  if (const PodPtr pod = pod_of(*job)) {
    if (const api::OwnerReference* owner = api::controller_of(pod->metadata))
      after.metadata.annotations[api::kJobWorkloadAnnotation] = owner->uid;
    if (!pod->spec.node_name.empty())
      after.metadata.annotations[api::kJobNodeAnnotation] = Symbol(pod->spec.node_name.view());
  }
  co_return co_await settle(job, co_await writes_.change(job, std::move(after), "it has passed arbitration"),
                            {});
}

Task<Result<std::optional<Controller::Again>>> Controller::forbid(JobPtr job) {
  Step step{.act = Act::kWriteStatus, .status = job->status, .event = {}, .wake_at = {}};
  step.status->phase = "Failed";
  step.status->reason = "ForbiddenMigratePod";
  step.status->message = fmt::format(
      "Pod {} is forbidden to migrate because it does not meet the requirements", quote(pod_key(*job)));
  step.event = JobEvent{true, "ForbiddenMigratePod", step.status->message};
  co_return co_await write(std::move(job), std::move(step));
}

Task<Result<PodPtr>> Controller::read_pod(std::string ns, std::string name) {
  Result<api::Pod> pod = co_await parts_.client.get<api::Pod>({.ns = std::move(ns), .name = std::move(name)});
  if (pod) co_return PodPtr(std::make_shared<const api::Pod>(std::move(*pod)));
  if (pod.error().code() == Code::not_found) co_return PodPtr();
  co_return pod.error();
}

/// An informer may be behind: what it does not have the API server is asked for, before a job ends for it.
Task<Result<Controller::Held>> Controller::look(JobPtr job) {
  Held held;
  held.pod = pod_of(*job);
  if (job->spec.paused) co_return held;
  const auto& options = job->spec.reservation_options;
  if (options && options->reservation_ref) {
    const std::string& name = options->reservation_ref->name;
    held.reservation = parts_.reservations.get({}, name);
    if (!held.reservation) {
      Result<api::Reservation> read = co_await parts_.client.get<api::Reservation>({.ns = {}, .name = name});
      if (read)
        held.reservation = std::make_shared<const api::Reservation>(std::move(*read));
      else if (read.error().code() != Code::not_found)
        co_return read.error();
    }
  }
  if (!has_passed(*job) || !job->spec.pod_ref || job->spec.pod_ref->name.empty()) co_return held;
  const api::ObjectReference& ref = *job->spec.pod_ref;
  if (locals_[job->metadata.uid].pod_gone) {
    held.pod = nullptr;
  } else if (!held.pod && !ref.namespace_.empty()) {
    KOORD_CO_TRY(pod, co_await read_pod(ref.namespace_.str(), ref.name));
    held.pod = pod && (ref.uid.empty() || ref.uid == pod->metadata.uid) ? pod : nullptr;
    // Of a job that names no UID a pod may still come.
    if (!held.pod && !ref.uid.empty()) locals_[job->metadata.uid].pod_gone = true;
  }
  if (held.reservation && !held.reservation->status.current_owners.empty()) {
    // Whoever has the room is the pod's successor if that one has gone, which may not have been heard of yet.
    if (held.reservation->status.phase == "Succeeded" && held.pod && !held.pod->metadata.deletion_timestamp &&
        !ref.namespace_.empty()) {
      KOORD_CO_TRY(pod, co_await read_pod(ref.namespace_.str(), ref.name));
      held.pod = pod && (ref.uid.empty() || ref.uid == pod->metadata.uid) ? pod : nullptr;
      if (!held.pod && !ref.uid.empty()) locals_[job->metadata.uid].pod_gone = true;
      held.pod_stays = held.pod && !held.pod->metadata.deletion_timestamp;
    }
    const api::ObjectReference& owner = held.reservation->status.current_owners[0];
    held.successor = parts_.pods.get(owner.namespace_.view(), owner.name);
    if (!held.successor && !owner.namespace_.empty() && !owner.name.empty()) {
      KOORD_CO_TRY(pod, co_await read_pod(owner.namespace_.str(), owner.name));
      held.successor = pod;
    }
  }
  co_return held;
}

Task<Result<std::optional<Controller::Again>>> Controller::reserve(JobPtr job) {
  const api::ObjectReference& ref = *job->spec.pod_ref;
  // Whole, with what koord does not know of pods.
  const Result<std::string> pod =
      co_await parts_.client.get_raw(api::kind<api::Pod>(), {.ns = ref.namespace_.str(), .name = ref.name});
  if (!pod && pod.error().code() != Code::not_found) co_return pod.error();
  bool is_there = false;
  if (pod) {
    KOORD_CO_TRY(document, json::parse(*pod));
    is_there = json::text_at(document, "metadata", "uid") == ref.uid;
  }
  if (!is_there) {
    locals_[job->metadata.uid].pod_gone = true;
    co_return std::optional<Again>();
  }
  auto made = reservation_template(*job, *pod, parts_.without_claims, next_order(), nodes_to_avoid(*job));
  Result<JobWrites::ReservationPtr> reservation =
      made ? co_await writes_.reserve(reservation_document(*made).value(), job) : made.error();
  if (!reservation) {
    const Error error = reservation.error();
    if (error.code() == Code::cancelled) co_return error;
    Step step = after_failed_reservation(*job, error.message(), parts_.clock.now());
    if (step.status) KOORD_CO_CHECK(co_await write(job, std::move(step)));
    co_return error;
  }
  api::PodMigrationJob after = *job;
  api::PodMigrationReservationOptions& options = after.spec.reservation_options.ensure();
  options.template_.text = *made;
  api::ObjectReference& to = options.reservation_ref.ensure();
  to.kind = "Reservation";
  to.api_version = Symbol(api::kind<api::Reservation>().api_version());
  to.name = (*reservation)->metadata.name;
  to.uid = (*reservation)->metadata.uid;
  co_return co_await settle(
      job, co_await writes_.change(job, std::move(after), "the reservation that it has"), {});
}

Task<Result<std::optional<Controller::Again>>> Controller::evict(JobPtr job, PodPtr pod,
                                                                 std::optional<WallTime> end) {
  const std::string uid = job->metadata.uid;
  const MonoTime now = parts_.clock.mono();
  {
    Local& local = locals_[uid];
    if (local.asked && now < *local.asked + kAskAgain)
      co_return std::optional(until(end, *local.asked + kAskAgain - now));
    if (local.not_soon && now < *local.not_soon) co_return std::optional(until(end, *local.not_soon - now));
    // A turn is kept for the job, so that it waits no longer for others that come meanwhile.
    if (!local.turn) local.turn = now + rate_->take(now);
    if (now < *local.turn) co_return std::optional(until(end, *local.turn - now));
    local.turn.reset();
  }
  const Profile& profile = profile_of(*job);
  EvictOptions options;
  options.plugin = std::string(api::value_or(job->metadata.annotations, api::kEvictTriggerAnnotation));
  options.reason = std::string(reason_of(*job));
  options.profile = std::string(api::value_or(job->metadata.annotations, api::kJobProfileAnnotation));
  options.wanted_by = initiator_of(*job, {}).wanted_by;
  if (job->spec.delete_options)
    options.delete_options = *job->spec.delete_options;
  else if (profile.args->default_delete_options)
    options.delete_options = *profile.args->default_delete_options;
  const EvictionPolicy policy = policy_of(*pod, *job, profile.args->policy());
  const Result<> asked = co_await parts_.ask(pod, policy, std::move(options));
  if (!asked) {
    const Error error = asked.error();
    if (error.code() == Code::cancelled) co_return error;
    {
      Local& local = locals_[uid];
      const unsigned doublings = std::min(local.refusals++, 10U);
      local.not_soon =
          parts_.clock.mono() + std::min<nanoseconds>(kRefused * (1U << doublings), kRefusedOften);
    }
    Step step = after_failed_eviction(*job, error.message(), parts_.clock.now());
    if (step.status) KOORD_CO_CHECK(co_await write(job, std::move(step)));
    co_return error;
  }
  left_.note(workload_of(*job), pod->spec.node_name.view(), parts_.clock.now());
  locals_[uid].refusals = 0;
  const bool first = !locals_[uid].asked;
  locals_[uid].asked = parts_.clock.mono();
  if (first)
    parts_.tell_pod(*pod, {false, "Descheduled",
                           fmt::format("Pod evicted from node {} by the reason {}",
                                       quote(pod->spec.node_name.view()), quote(reason_of(*job)))});
  co_return std::optional(until(end, kAskAgain));
}

Task<Result<std::optional<Controller::Again>>> Controller::write(JobPtr job, Step step) {
  Result<JobPtr> written = co_await writes_.set_status(job, std::move(*step.status));
  co_return co_await settle(std::move(job), std::move(written), std::move(step.event));
}

/// Nothing: the job is looked at again as it now is. Written by somebody else meanwhile, it is read anew.
Task<Result<std::optional<Controller::Again>>> Controller::settle(JobPtr job, Result<JobPtr> written,
                                                                  std::optional<JobEvent> event) {
  if (written) {
    if (event) parts_.tell(**written, *event);
    if (is_finished(**written)) locals_.erase(job->metadata.uid);
    book_.put(*written, present_pod(**written));
    look_at_line(**written);
    wake_.set();
    co_return std::optional<Again>();
  }
  const Code code = written.error().code();
  if (code != Code::conflict && code != Code::not_found) co_return written.error();
  Result<JobPtr> newest = co_await writes_.newest(job);
  if (newest) {
    book_.put(*newest, present_pod(**newest));
    if ((*newest)->metadata.resource_version == job->metadata.resource_version) co_return written.error();
    co_return std::optional<Again>();
  }
  if (newest.error().code() != Code::not_found) co_return newest.error();
  forget(*job);
  book_.remove(job->metadata.name, job->metadata.uid);
  wake_.set();
  co_return std::optional(Again());
}

}  // namespace koord::descheduler::migration
