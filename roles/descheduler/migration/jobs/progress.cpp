// next_step(): see progress.hpp.
#include "migration/jobs/progress.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/koordinator/migration.hpp"
#include "koord/base/text.hpp"
#include "migration/jobs/check.hpp"
#include "migration/jobs/conditions.hpp"
#include "migration/jobs/made_by.hpp"
#include "migration/jobs/turns.hpp"

namespace koord::descheduler::migration {
namespace {

using Act = Step::Act;

/// It is in conditions, events and annotations of the pod, and anybody may write it.
constexpr std::size_t kLongestReason = 1024;

/// Until it is asked again whether another migration leaves its room: of the workload's pods nobody tells.
constexpr std::chrono::seconds kSpareSoon{5};

template <class List>
auto* of_type(const List& conditions, std::string_view type) {
  const auto at = std::ranges::find_if(conditions, [&](const auto& c) { return c.type == type; });
  return at == conditions.end() ? nullptr : &*at;
}

const api::ReservationCondition* reservation_condition(const api::Reservation& reservation,
                                                       std::string_view type, std::string_view reason) {
  const api::ReservationCondition* found = of_type(reservation.status.conditions, type);
  return found && found->reason == reason ? found : nullptr;
}

/// A job as it is looked at once.
class Look {
 public:
  Look(const api::PodMigrationJob& job, const Scene& scene, std::string_view mode, WallTime now)
      : job_(job), scene_(scene), mode_(mode), now_(now) {}

  Step next() const {
    if (job_.spec.paused || is_finished(job_)) return {};
    if (const std::string wrong = what_is_wrong(job_); !wrong.empty()) return refused(wrong);
    if (const auto end = ends_at(job_); end && now_ >= *end) return timed_out();
    if (api::value_or(job_.metadata.annotations, api::kPassedArbitrationAnnotation) != "true") return wait();
    if (!job_.spec.pod_ref || job_.spec.pod_ref->namespace_.empty() || job_.spec.pod_ref->name.empty())
      return fail("InvalidPodRef", "Abort job caused by invalid PodRef");
    if (job_.status.phase != "Running") return begin();
    return mode_ == "EvictDirectly" ? evict_directly() : reservation_first();
  }

 private:
  bool pod_is_there() const {
    return scene_.pod &&
           (job_.spec.pod_ref->uid.empty() || job_.spec.pod_ref->uid == scene_.pod->metadata.uid);
  }
  std::string pod_name() const {
    return fmt::format("{}/{}", job_.spec.pod_ref->namespace_.view(), job_.spec.pod_ref->name);
  }
  Step wait() const { return {.act = Act::kWait, .wake_at = ends_at(job_)}; }
  Step wait(std::chrono::nanoseconds at_most) const {
    const auto end = ends_at(job_);
    return {.act = Act::kWait, .wake_at = end ? std::min<WallTime>(*end, now_ + at_most) : now_ + at_most};
  }
  Step act(Act act) const { return {.act = act, .wake_at = ends_at(job_)}; }
  Step write(api::PodMigrationJobStatus status, std::optional<JobEvent> event) const {
    return {.act = Act::kWriteStatus, .status = std::move(status), .event = std::move(event)};
  }
  Step fail(std::string_view reason, std::string message, bool told = true) const {
    api::PodMigrationJobStatus status = job_.status;
    status.phase = Symbol("Failed");
    status.reason = Symbol(reason);
    status.message = message;
    std::optional<JobEvent> event;
    if (told) event = JobEvent{true, std::string(reason), std::move(message)};
    return write(std::move(status), std::move(event));
  }
  // `type` is the condition that holds with the success; empty: none.
  Step succeed(std::string_view type, std::string message, std::string_view condition_says = {}) const {
    api::PodMigrationJobStatus status = job_.status;
    if (!type.empty()) note_condition(status, type, true, {}, condition_says, api::Time(now_));
    status.phase = Symbol("Succeeded");
    status.status = Symbol("Complete");
    status.reason = Symbol();
    status.message = message;
    return write(std::move(status), JobEvent{false, "Complete", std::move(message)});
  }
  // Waits where the condition stands already.
  Step reach(std::string_view type, bool holds, std::string_view reason, std::string_view message,
             std::optional<JobEvent> event) const {
    api::PodMigrationJobStatus status = job_.status;
    if (!set_condition(status, type, holds, reason, message, api::Time(now_))) return wait();
    return write(std::move(status), std::move(event));
  }
  bool holds(std::string_view type) const {
    const api::PodMigrationJobCondition* condition = condition_of(job_.status, type);
    return condition && condition->status == "True";
  }

  Step give_up(std::string_view reason, std::string message) const {
    Step step = fail(reason, std::move(message));
    if (scene_.reservation) step.act = Act::kDeleteReservation;
    return step;
  }
  Step timed_out() const { return give_up("Timeout", "Abort job caused by timeout"); }
  Step refused(std::string_view wrong) const {
    return give_up("InvalidSpec",
                   fmt::format("PodMigrationJob {} is invalid: {}", quote(job_.metadata.name), wrong));
  }
  Step missing_pod() const {
    return fail("MissingPod", fmt::format("Abort job caused by missing Pod {}", quote(pod_name())));
  }

  Step begin() const {
    // A pod of the same name that has come since is another one: nobody has asked for its eviction.
    if (!pod_is_there() || (job_.spec.pod_ref->uid.empty() &&
                            scene_.pod->metadata.creation_timestamp.at > job_.metadata.creation_timestamp.at))
      return missing_pod();
    if (job_.spec.pod_ref->uid.empty()) return act(Act::kPinPod);
    api::PodMigrationJobStatus status = job_.status;
    status.phase = Symbol("Running");
    return write(std::move(status), std::nullopt);
  }

  // The pod that has the reservation, and the one that is to go.
  bool is_from_same_controller() const {
    const api::OwnerReference* const successors =
        scene_.successor ? api::controller_of(scene_.successor->metadata) : nullptr;
    const api::OwnerReference* const own = api::controller_of(scene_.pod->metadata);
    return successors && own && successors->uid == own->uid;
  }

  Step evict_directly() const {
    if (std::optional<Step> step = evict()) return std::move(*step);
    return succeed({}, fmt::format("Pod {} has been evicted", quote(pod_name())));
  }

  Step wait_for_spare_room() const {
    api::PodMigrationJobStatus status = job_.status;
    status.message = fmt::format(
        "Reservation {} is bound by another Pod, waiting for the one that another migration of the workload "
        "may leave",
        quote(scene_.reservation->metadata.name));
    if (status.message == job_.status.message) return wait(kSpareSoon);
    status.reason = Symbol("WaitForSpareReservation");
    const JobEvent event{false, status.reason.str(), status.message};
    return write(std::move(status), event);
  }

  // Nothing once the pod is gone and the job says so.
  std::optional<Step> evict() const {
    if (holds("Eviction")) return std::nullopt;
    const api::PodMigrationJobCondition* asked = condition_of(job_.status, "Eviction");
    if (!pod_is_there()) {
      if (!asked) return missing_pod();
      return reach(
          "Eviction", true, "EvictComplete", {},
          JobEvent{false, "EvictComplete", fmt::format("Pod {} has been evicted", quote(pod_name()))});
    }
    if (scene_.pod->metadata.deletion_timestamp) return wait();
    if (scene_.reservation && scene_.reservation->status.phase == "Succeeded") {
      // Whoever has it may be the successor of a pod whose end has not been heard of yet, also where the last
      // that was said of the eviction is that it was refused.
      if (!scene_.pod_stays && asked && (asked->reason == "Evicting" || is_from_same_controller()))
        return wait();
      if (scene_.spare == Spare::none)
        return fail("ForbiddenMigratePod", "Reservation is already bound by another Pod");
      if (scene_.spare == Spare::perhaps) return wait_for_spare_room();
    }
    // Said before it is asked for: a process that ends in between leaves a job whose pod goes by its doing.
    if (!asked) {
      const std::string message =
          fmt::format("Pod {} evicted from node {} by the reason {}", quote(pod_name()),
                      quote(scene_.pod->spec.node_name.view()), quote(reason_of(job_)));
      return reach("Eviction", false, "Evicting", message, JobEvent{false, "Evicting", message});
    }
    return act(Act::kEvict);
  }

  Step reservation_first() const {
    if (!job_.spec.reservation_options || !job_.spec.reservation_options->reservation_ref)
      return pod_is_there() ? act(Act::kCreateReservation) : missing_pod();
    const std::string& name = job_.spec.reservation_options->reservation_ref->name;
    if (!scene_.reservation) {
      const Symbol& ns = job_.spec.reservation_options->reservation_ref->namespace_;
      return fail("MissingReservation", fmt::format("Abort job caused by missing Reservation {}",
                                                    quote(fmt::format("{}/{}", ns.view(), name))));
    }
    const api::Reservation& reservation = *scene_.reservation;
    if (!holds("ReservationCreated")) {
      std::optional<JobEvent> created;  // of one that a user has made nobody is told so
      if (api::value_or(reservation.metadata.labels, kCreatedByLabel) == kCreator)
        created = {false, "ReservationCreated",
                   fmt::format("Successfully create Reservation {}", quote(name))};
      return reach("ReservationCreated", true, {}, {}, std::move(created));
    }
    const std::string_view phase = reservation.status.phase.view();
    const auto* unschedulable = reservation_condition(reservation, "Scheduled", "Unschedulable");
    if (unschedulable && !holds("ReservationScheduled")) {
      Step step = reach("ReservationScheduled", false, "Unschedulable", unschedulable->message,
                        JobEvent{true, "Unschedulable", unschedulable->message});
      if (step.status) return step;
    }
    if (phase.empty() || phase == "Pending") return wait();
    if (phase == "Failed" && reservation_condition(reservation, "Ready", "Expired"))
      return fail("ReservationExpired", "Reservation expired", false);
    const auto* scheduled = reservation_condition(reservation, "Scheduled", "Scheduled");
    if (reservation.status.node_name.empty() || !scheduled || scheduled->status != "True")
      return fail("Unschedulable", unschedulable ? unschedulable->message : std::string(), false);
    if (!holds("ReservationScheduled")) return assigned(reservation);
    // The room is for the pod itself, which has none yet: nobody is evicted.
    if (is_for_one_pod(reservation)) return await_scheduled(reservation);
    if (std::optional<Step> step = evict()) return std::move(*step);
    return await_successor(reservation);
  }

  Step assigned(const api::Reservation& reservation) const {
    const std::string& name = reservation.metadata.name;
    if (pod_is_there() && scene_.pod->spec.node_name == reservation.status.node_name)
      return fail(
          "ForbiddenMigratePod",
          fmt::format("Scheduler assignes the Reservation {} on the same node as the Pod", quote(name)));
    Step step = reach("ReservationScheduled", true, {}, {},
                      JobEvent{false, "ReservationScheduled",
                               fmt::format("Assigned Reservation {} to node {}", quote(name),
                                           quote(reservation.status.node_name.view()))});
    if (step.status) step.status->node_name = reservation.status.node_name;
    return step;
  }

  Step await_scheduled(const api::Reservation& reservation) const {
    if (!pod_is_there()) return missing_pod();
    const auto* scheduled = of_type(scene_.pod->status.conditions, "PodScheduled");
    if (scheduled && scheduled->status != "False")
      return succeed("PodScheduled", fmt::format("Assign Pod {} to node {}", quote(pod_name()),
                                                 quote(scene_.pod->spec.node_name.view())));
    const std::vector<api::ObjectReference>& owners = reservation.status.current_owners;
    if (reservation.status.phase == "Succeeded" &&
        (owners.empty() || owners[0].uid != scene_.pod->metadata.uid))
      return fail("ForbiddenMigratePod", "Reservation is already bound by another Pod");
    return reach("PodScheduled", false, "Unschedulable",
                 scheduled ? scheduled->message.view() : std::string_view(), std::nullopt);
  }

  Step await_successor(const api::Reservation& reservation) const {
    if (reservation.status.current_owners.empty())
      return reach("PodBoundReservation", false, "WaitForPodBindReservation", {},
                   JobEvent{false, "WaitForPodBindReservation", "Waiting for Pod bind Reservation"});
    const api::ObjectReference& bound = reservation.status.current_owners[0];
    const std::string name = fmt::format("{}/{}", bound.namespace_.view(), bound.name);
    if (!holds("ReservationBound")) {
      api::PodMigrationJobStatus status = job_.status;
      note_condition(status, "ReservationBound", true, {}, {}, api::Time(now_));
      status.pod_ref = bound;
      return write(std::move(status), JobEvent{false, "PodBoundReservation",
                                               fmt::format("Reservation bound by pod {}", quote(name))});
    }
    if (!holds("BoundPodReady")) {
      const auto* ready = scene_.successor ? of_type(scene_.successor->status.conditions, "Ready") : nullptr;
      if (scene_.successor && !(ready && ready->status == "True"))
        return reach(
            "BoundPodReady", false, "WaitForBoundPodReady", {},
            JobEvent{false, "WaitForBoundPodReady", fmt::format("Waiting for Bound Pod {} Ready", name)});
      return reach("BoundPodReady", true, {}, {},
                   JobEvent{false, "BoundPodReady", fmt::format("Bind pod {} is ready", quote(name))});
    }
    const std::string says =
        fmt::format("Bind Pod {} in Reservation {}", quote(name), quote(reservation.metadata.name));
    Step step = succeed("PodBoundReservation", says, says);
    step.status->pod_ref = bound;
    return step;
  }

  const api::PodMigrationJob& job_;
  const Scene& scene_;
  const std::string_view mode_;
  const WallTime now_;
};

Step tell_failure(const api::PodMigrationJob& job, std::string_view type, std::string_view reason,
                  std::string message, JobEvent event, WallTime now) {
  Step step{.act = Act::kWriteStatus, .status = job.status, .event = std::move(event)};
  if (is_finished(job) || !set_condition(*step.status, type, false, reason, message, api::Time(now)))
    return {};
  return step;
}

}  // namespace

std::optional<WallTime> ends_at(const api::PodMigrationJob& job) {
  if (!job.spec.ttl || job.spec.ttl->value.count() <= 0) return std::nullopt;
  return job.metadata.creation_timestamp.wall() + job.spec.ttl->value;
}

std::string_view reason_of(const api::PodMigrationJob& job) {
  for (const std::string_view key : {api::kEvictReasonAnnotation, api::kEvictTriggerAnnotation})
    if (const std::string_view text = api::value_or(job.metadata.annotations, key); !text.empty())
      return utf8_prefix(text, kLongestReason);
  return "NotSet";
}

bool is_finished(const api::PodMigrationJob& job) {
  const Symbol& phase = job.status.phase;
  return !phase.empty() && phase != "Pending" && phase != "Running";
}

Step next_step(const api::PodMigrationJob& job, const Scene& scene, std::string_view default_mode,
               WallTime now) {
  return Look(job, scene, job.spec.mode.empty() ? default_mode : job.spec.mode.view(), now).next();
}

Step after_failed_eviction(const api::PodMigrationJob& job, std::string_view error, WallTime now) {
  const std::string pod =
      job.spec.pod_ref ? fmt::format("{}/{}", job.spec.pod_ref->namespace_.view(), job.spec.pod_ref->name)
                       : "";
  std::string message = fmt::format("Failed evict Pod {} caused by {}", quote(pod), error);
  JobEvent event{true, "Evicting", message};
  return tell_failure(job, "Eviction", "FailedEvict", std::move(message), std::move(event), now);
}

Step after_failed_reservation(const api::PodMigrationJob& job, std::string_view error, WallTime now) {
  std::string message = fmt::format("Failed to create Reservation caused by {}", error);
  JobEvent event{true, "FailedCreateReservation", message};
  return tell_failure(job, "ReservationCreated", "FailedCreateReservation", std::move(message),
                      std::move(event), now);
}

}  // namespace koord::descheduler::migration
