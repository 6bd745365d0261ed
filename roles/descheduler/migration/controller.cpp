// Controller: what happens to jobs, reservations and pods, and when a job is looked at. See controller.hpp.
#include "migration/controller.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "evictions/workload_share.hpp"
#include "koord/api/koordinator/migration.hpp"
#include "koord/async/timer.hpp"
#include "migration/arbitrator.hpp"
#include "migration/jobs/conditions.hpp"
#include "migration/reservation_template.hpp"

namespace koord::descheduler::migration {

namespace {

constexpr std::chrono::seconds kNotLeading{1};
constexpr const char* kTimeOver = "the job is over, and so is the time that it is kept";
constexpr std::chrono::minutes kOrphanAge{1};
/// Of the time of the event loop arbitration takes a tenth at most.
constexpr int kRest = 10;

/// 8-4-4-4-12 digits, as API servers make UIDs.
bool is_uid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const char c = text[i];
    if (dash ? c != '-' : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

std::string_view controller_uid(const api::Pod& pod) {
  const api::OwnerReference* owner = api::controller_of(pod.metadata);
  return owner ? owner->uid.view() : std::string_view();
}

}  // namespace

Filters& Controller::add_profile(const std::string& name, std::shared_ptr<const MigrationControllerArgs> args,
                                 std::function<std::optional<std::int32_t>(std::string_view)> priority_of) {
  Profile profile;
  profile.args = args;
  profile.filters = std::make_unique<Filters>(args, book_.counts(), parts_.workloads, std::move(priority_of));
  for (const auto& [type, limiter] : args->object_limiters)
    if (limiter.duration && limiter.duration->value.count() > 0)
      profile.limits.try_emplace(type.str(), limiter.duration->value, limiter.burst);
  if (!rate_) rate_.emplace(args->qps(), args->evict_burst.value_or(1));
  return *profiles_.emplace_back(name, std::move(profile)).second.filters;
}

void Controller::start(TaskGroup& tasks) {
  if (tasks_ != nullptr) return;
  tasks_ = &tasks;
  parts_.pods.deliver_to(changes_);
  parts_.reservations.deliver_to(changes_);
  parts_.jobs.deliver_to(changes_);
  tasks.spawn("migration jobs", watch());
}

void Controller::stop() {
  stopped_ = true;
  queue_.close();
  leftovers_.close();
  changes_.close();
}

Task<Result<>> Controller::watch() {
  for (;;) {
    const Result<kube::Batch> batch = co_await changes_.next();
    if (!batch && stopped_) co_return Result<>();
    if (!batch) co_return batch.error();
    for (const kube::Change& change : batch->changes) apply(change);
    if (!batch->synced || synced_.is_set()) continue;
    synced_.set();
    if (parts_.dry_run) continue;
    remember_evictions();
    tasks_->spawn("migration arbitration", arbitrate_jobs());
    for (int i = 0; i < profiles_.front().second.args->max_concurrent_reconciles.value_or(1); ++i)
      tasks_->spawn("migration", work());
    tasks_->spawn("migration leftovers", release_leftovers());
    tasks_->spawn("migration scavenger", scavenge());
  }
}

void Controller::apply(const kube::Change& change) {
  if (change.is<api::PodMigrationJob>())
    apply_job(change.old_object<api::PodMigrationJob>(), change.new_object<api::PodMigrationJob>());
  else if (change.is<api::Pod>())
    apply_pod(change.old_object<api::Pod>(), change.new_object<api::Pod>());
  else if (const auto now = change.new_object<api::Reservation>() ? change.new_object<api::Reservation>()
                                                                  : change.old_object<api::Reservation>()) {
    const auto names = book_.of_reservation(now->metadata.name);
    look_at(names);
    for (const std::string& name : names) look_at_line(*book_.find(name));
  }
}

/// Those who wait for their turn, which is another one's, perhaps, after what has happened to that job.
void Controller::look_at_line(const api::PodMigrationJob& job) {
  const auto it = lines_.find(workload_of(job));
  if (it == lines_.end()) return;
  for (const std::string& name : it->second)
    if (name != job.metadata.name) queue_.add(name);
  lines_.erase(it);
}

void Controller::apply_job(const JobPtr& before, const JobPtr& after) {
  if (before && (!after || after->metadata.uid != before->metadata.uid)) {
    forget(*before);
    book_.remove(before->metadata.name, before->metadata.uid);
  }
  if (after) {
    if (is_finished(*after)) {
      locals_.erase(after->metadata.uid);
      remember_arrival(*after);
    }
    book_.put(after, present_pod(*after));
    queue_.add(after->metadata.name);
    look_at_line(*after);
  }
  wake_.set();
}

/// Its reservation goes with a job, also one that was made and not written down.
void Controller::forget(const api::PodMigrationJob& job) {
  locals_.erase(job.metadata.uid);
  look_at_line(job);
  const bool finished = is_finished(job);
  const auto drop = [&](const std::string& name) {
    if (!name.empty() && (!finished || parts_.reservations.get({}, name))) leftovers_.add(name);
  };
  const auto& options = job.spec.reservation_options;
  if (options && options->reservation_ref) drop(options->reservation_ref->name);
  if (!options || !options->reservation_ref || options->reservation_ref->name != job.metadata.uid)
    drop(job.metadata.uid);
}

void Controller::apply_pod(const PodPtr& before, const PodPtr& after) {
  const api::Pod& pod = after ? *after : *before;
  const std::string_view ns = pod.metadata.namespace_.view();
  const auto names = book_.of_pod(ns, pod.metadata.name);
  if (!names.empty()) {
    book_.pod_changed(ns, pod.metadata.name, after);
    look_at(names);
    wake_.set();
  }
  if (waiting_workloads_.empty() || wake_.is_set()) return;
  const bool changed = !before || !after || is_available(*before) != is_available(*after);
  if (changed && waiting_workloads_.contains(controller_uid(pod))) wake_.set();
}

void Controller::look_at(const std::vector<std::string>& names) {
  for (const std::string& name : names) queue_.add(name);
}

PodPtr Controller::present_pod(const api::PodMigrationJob& job) const {
  if (!job.spec.pod_ref) return nullptr;
  return parts_.pods.get(job.spec.pod_ref->namespace_.view(), job.spec.pod_ref->name);
}

PodPtr Controller::pod_of(const api::PodMigrationJob& job) const {
  PodPtr pod = present_pod(job);
  if (pod && !job.spec.pod_ref->uid.empty() && job.spec.pod_ref->uid != pod->metadata.uid) pod = nullptr;
  return pod;
}

/// Of a job that has not succeeded: the room that was made for it and is nobody's.
std::shared_ptr<const api::Reservation> Controller::unused_room(const api::PodMigrationJob& job) const {
  const auto& options = job.spec.reservation_options;
  if (!is_finished(job) || job.status.phase == "Succeeded" || !options || !options->reservation_ref ||
      options->template_.text.empty())
    return nullptr;
  const api::ObjectReference& ref = *options->reservation_ref;
  auto room = parts_.reservations.get({}, ref.name);
  if (!room || room->metadata.uid != ref.uid || !room->status.current_owners.empty() ||
      api::value_or(room->metadata.labels, kCreatedByLabel) != kCreator ||
      !book_.of_reservation(ref.name).empty())
    return nullptr;
  const Symbol& phase = room->status.phase;
  return phase.empty() || phase == "Pending" || phase == "Available" ? room : nullptr;
}

Controller::Profile& Controller::profile_of(const api::PodMigrationJob& job) {
  const std::string_view name = api::value_or(job.metadata.annotations, api::kJobProfileAnnotation);
  const auto it = std::ranges::find_if(profiles_, [&](const auto& each) { return each.first == name; });
  return it == profiles_.end() ? profiles_.front().second : it->second;
}

Task<Result<>> Controller::arbitrate_jobs() {
  const nanoseconds interval = profiles_.front().second.args->arbitration_interval();
  nanoseconds rest{0};
  for (;;) {
    if (book_.waiting().empty()) {
      KOORD_CO_CHECK(co_await wake_.wait());
    } else {
      KOORD_CO_CHECK(co_await wake_.wait_for(parts_.clock, std::max(interval, rest)));
    }
    wake_.reset();
    waiting_workloads_.clear();
    if (book_.waiting().empty()) continue;
    if (!parts_.may_write()) {
      KOORD_CO_CHECK(co_await sleep(parts_.clock, kNotLeading));
      continue;
    }
    const MonoTime began = parts_.clock.mono();
    for (auto& [name, profile] : profiles_) profile.filters->forget_workloads();
    const auto decided = arbitrate(
        book_, [this](const api::PodMigrationJob& job) -> Filters& { return *profile_of(job).filters; },
        [this](const api::PodMigrationJob& job) { return pod_of(job); },
        [this](const api::PodMigrationJob& job, const std::string& why) {
          if (const PodPtr pod = pod_of(job); pod && !controller_uid(*pod).empty())
            waiting_workloads_.emplace(controller_uid(*pod));
          parts_.log.v(4, "a PodMigrationJob waits", kv("job", job.metadata.name), kv("why", why));
        });
    look_at(decided);
    rest = (parts_.clock.mono() - began) * kRest;
    if (rest.count() > 0) KOORD_CO_CHECK(co_await sleep(parts_.clock, rest));
  }
}

Task<Result<>> Controller::work() {
  for (;;) {
    auto next = co_await queue_.next();
    if (!next) co_return next.error();
    if (!*next) co_return Result<>();
    const std::string& name = **next;
    const Result<Again> again = co_await advance(name);
    if (!again && again.error().code() == Code::cancelled) {
      queue_.done(name);
      co_return again.error();
    }
    if (again) {
      queue_.forget(name);
      if (*again) queue_.add_after(name, std::max(**again, nanoseconds(1)));
    } else {
      parts_.log.v(2, "a PodMigrationJob is tried again", kv("job", name), kv("error", again.error()));
      queue_.retry(name);
    }
    queue_.done(name);
  }
}

Task<Result<>> Controller::release_leftovers() {
  for (;;) {
    auto next = co_await leftovers_.next();
    if (!next) co_return next.error();
    if (!*next) co_return Result<>();
    const std::string& name = **next;
    // Another job may refer to it.
    const Result<> done =
        book_.knows_reservation(name)
            ? Result<>()
            : co_await writes_.release(name, {}, {}, nullptr, "its PodMigrationJob is gone");
    if (!done && done.error().code() == Code::cancelled) {
      leftovers_.done(name);
      co_return done.error();
    }
    if (done)
      leftovers_.forget(name);
    else
      leftovers_.retry(name);
    leftovers_.done(name);
  }
}

Task<Result<>> Controller::scavenge() {
  for (;;) {
    if (parts_.may_write()) {
      const Result<> done = co_await scavenge_once();
      if (!done && done.error().code() == Code::cancelled) co_return done.error();
      find_orphans();
      for (const JobPtr& job : book_.all())
        if (unused_room(*job)) queue_.add(job->metadata.name);
      for (auto& [name, profile] : profiles_)
        for (auto& [type, limits] : profile.limits) limits.forget_before(parts_.clock.now());
      left_.forget_before(parts_.clock.now());
      reached_.forget_before(parts_.clock.now());
    }
    KOORD_CO_CHECK(co_await sleep(parts_.clock, kScavenge));
  }
}

Task<Result<>> Controller::scavenge_once() {
  for (const JobPtr& job : book_.all()) {
    const bool limited = job->spec.ttl && job->spec.ttl->value.count() > 0;
    const nanoseconds kept =
        limited ? job->spec.ttl->value + nanoseconds(kLinger) : nanoseconds(kLingerWithoutTtl);
    if (parts_.clock.now() - job->metadata.creation_timestamp.wall() < kept) continue;
    // It waits for somebody to let it go on, and says of no time when that is too late.
    if (job->spec.paused && !limited && !is_finished(*job)) continue;
    if (!parts_.may_write()) break;
    Result<> done;
    if (job->spec.reservation_options && job->spec.reservation_options->reservation_ref)
      done = co_await writes_.release(job->spec.reservation_options->reservation_ref->name, {}, {}, job,
                                      kTimeOver);
    if (done) done = co_await writes_.remove(job, kTimeOver);
    if (done) continue;
    if (done.error().code() == Code::cancelled) co_return done.error();
    parts_.log.warn("a PodMigrationJob whose time is over cannot be removed: tried again in a minute",
                    kv("job", job->metadata.name), kv("error", done.error()));
  }
  co_return Result<>();
}

/// Reservations of jobs that were deleted while nobody led.
void Controller::find_orphans() {
  // A job that cannot be read here is no job that is gone.
  if (!parts_.jobs.listed() || parts_.jobs.undefined() || parts_.jobs.status().skipped > 0) return;
  parts_.reservations.for_each([&](const kube::Object& object) {
    const auto& reservation = *static_cast<const api::Reservation*>(object.get());
    const std::string& name = reservation.metadata.name;
    if (api::value_or(reservation.metadata.labels, kCreatedByLabel) == kCreator && is_uid(name) &&
        !book_.knows_reservation(name) &&
        parts_.clock.now() - reservation.metadata.creation_timestamp.wall() >= kOrphanAge)
      leftovers_.add(name);
  });
}

void Controller::remember_evictions() {
  for (const JobPtr& job : book_.all()) {
    const api::PodMigrationJobCondition* evicted = condition_of(job->status, "Eviction");
    if (!evicted || !job->spec.pod_ref) continue;
    std::string workload(workload_of(*job));
    if (const PodPtr pod = pod_of(*job); pod && workload.empty()) workload = controller_uid(*pod);
    count_eviction(workload, job->spec.pod_ref->namespace_.view(), evicted->last_transition_time.wall());
    left_.note(workload, from_node(*job), evicted->last_transition_time.wall());
    if (!is_finished(*job)) locals_[job->metadata.uid].counted = true;
  }
}

void Controller::remember_arrival(const api::PodMigrationJob& job) {
  if (job.status.phase != "Succeeded") return;
  WallTime at{};
  for (const api::PodMigrationJobCondition& condition : job.status.conditions)
    at = std::max<WallTime>(at, condition.last_transition_time.wall());
  reached_.note(workload_of(job), job.status.node_name.view(), at);
}

bool Controller::is_awaited_there(const api::Pod& pod) const {
  const std::string_view workload = controller_uid(pod);
  if (workload.empty() || pod.spec.node_name.empty()) return false;
  return std::ranges::any_of(book_.of_workload(workload), [&](const std::string& name) {
    const JobPtr other = book_.find(name);
    return other && other->spec.pod_ref && other->spec.pod_ref->uid != pod.metadata.uid &&
           other->status.node_name == pod.spec.node_name.view();
  });
}

bool Controller::has_just_come(const api::Pod& pod) const {
  return is_awaited_there(pod) ||
         reached_.has(controller_uid(pod), pod.spec.node_name.view(), parts_.clock.now());
}

void Controller::count_eviction(std::string_view workload, std::string_view ns, WallTime at) {
  for (auto& [name, profile] : profiles_)
    for (auto& [type, limits] : profile.limits)
      limits.take(std::string(type == "workload" ? workload : type == "namespace" ? ns : ""), at);
}

nanoseconds Controller::held_back(const api::Pod& pod, const std::string& profile) {
  const auto it = std::ranges::find_if(profiles_, [&](const auto& each) { return each.first == profile; });
  return held_back(pod, it == profiles_.end() ? profiles_.front().second : it->second);
}

nanoseconds Controller::held_back(const api::Pod& pod, Profile& profile) {
  const WallTime now = parts_.clock.now();
  nanoseconds most{0};
  for (const auto& [type, limits] : profile.limits) {
    const ObjectLimiter& limiter = *profile.args->object_limiters.find(type);
    if (type == "namespace") {
      const auto in_time = limiter.max_migrating ? limiter.max_migrating->to_int() : 0;
      most = std::max(most, limits.next(pod.metadata.namespace_.str(), in_time, now) - now);
      continue;
    }
    const api::OwnerReference* owner = api::controller_of(pod.metadata);
    if (type != "workload" || !owner || limits.is_fresh(owner->uid.str())) continue;
    const Workload workload = parts_.workloads.find(*owner, pod.metadata.namespace_.view());
    if (!workload.known) {
      most = std::max(most, nanoseconds(std::chrono::seconds(1)));
      continue;
    }
    const auto in_time =
        most_away(workload.replicas,
                  limiter.max_migrating ? limiter.max_migrating : profile.args->max_migrating_per_workload);
    most = std::max(most, limits.next(owner->uid.str(), in_time ? *in_time : 0, now) - now);
  }
  return most;
}

Task<Result<>> Controller::create(api::PodMigrationJob job) {
  KOORD_CO_TRY(made, co_await writes_.create(std::move(job)));
  // Counted from now on, not from when the informer tells of it.
  book_.put(made, present_pod(*made));
  queue_.add(made->metadata.name);
  wake_.set();
  co_return Result<>();
}

void Controller::rehearse(api::PodMigrationJob job) {
  job.metadata.uid = job.metadata.name;
  job.metadata.annotations[api::kPassedArbitrationAnnotation] = "true";
  const JobPtr made = std::make_shared<const api::PodMigrationJob>(std::move(job));
  rehearsed_.push_back(made);
  book_.put(made, present_pod(*made));
}

void Controller::begin_rehearsal(std::uint64_t pass) {
  if (pass == rehearsal_) return;
  rehearsal_ = pass;
  for (const JobPtr& job : rehearsed_) book_.remove(job->metadata.name, job->metadata.uid);
  rehearsed_.clear();
}

}  // namespace koord::descheduler::migration
