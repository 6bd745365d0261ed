// See node_progress.hpp.
#include "drain/node_progress.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "drain/cordon.hpp"
#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/koordinator/descheduling.hpp"
#include "koord/api/koordinator/drain.hpp"
#include "koord/api/koordinator/migration.hpp"
#include "koord/api/schema/kind.hpp"
#include "migration/jobs/progress.hpp"

namespace koord::descheduler::drain {
namespace {

using Act = NodeWrite::Act;
constexpr std::chrono::hours kDefaultWait{1};
constexpr std::string_view kPhases[] = {"Unmigratable", "Waiting",   "Ready",   "Available",
                                        "Unavailable",  "Migrating", "Succeed", "Failed"};

template <class List>
auto find_named(const List& objects, std::string_view name) {
  const auto at =
      std::ranges::find(objects, name, [](const auto& o) -> const std::string& { return o->metadata.name; });
  return at == objects.end() ? nullptr : at->get();
}

bool is_unschedulable(const api::Reservation& room) {
  return std::ranges::any_of(room.status.conditions, [](const api::ReservationCondition& c) {
    return c.type == "Scheduled" && c.reason == "Unschedulable";
  });
}

bool is_free(const api::Reservation& room) {
  return room.status.phase == "Available" && room.status.current_owners.empty();
}

/// A DrainNode as it is looked at once.
class Look {
 public:
  Look(const api::DrainNode& drain, const NodeScene& scene, WallTime now)
      : drain_(drain), scene_(scene), now_(now), ends_(ends_at(drain.metadata, drain.spec.ttl)) {
    step_.status = drain.status;
  }

  NodeStep next() && {
    decide();
    if (*step_.status == drain_.status) step_.status.reset();
    if (!step_.status) step_.events.clear();
    return std::move(step_);
  }

  bool undone() const {
    const auto mine = [this](const auto& part) { return is_made_by(part->metadata, drain_); };
    return std::ranges::none_of(scene_.jobs, mine) && std::ranges::none_of(scene_.reservations, mine) &&
           !is_marked();
  }

 private:
  void decide() {
    // Its parts go with it, its marks once it is gone.
    if (drain_.metadata.deletion_timestamp) return;
    wake(ends_);
    if (ends_ && now_ >= *ends_ + kKeptAfterTtl) return time_is_over();
    const Symbol& phase = drain_.status.phase;
    if (phase == "Aborted") return undo();
    if (phase == "Complete") return is_abort_wanted() ? uncordon() : watch();
    if (is_abort_wanted()) return abort();
    if (ends_ && now_ >= *ends_)
      return refuse("TimedOut", fmt::format("not drained within {}", drain_.spec.ttl->to_string()));
    if (phase == "Running") return run();
    begin();
  }

  bool is_abort_wanted() const {
    return is_refused(drain_) || drain::is_abort_wanted(drain_.metadata.labels);
  }
  bool is_marked() const { return scene_.node != nullptr && marked_by(*scene_.node) == drain_.metadata.name; }
  void wake(const std::optional<WallTime>& at) {
    if (at && *at > now_) step_.wake_at = std::min(step_.wake_at.value_or(*at), *at);
  }
  void tell(bool warning, std::string reason, std::string note) {
    step_.events.push_back({warning, std::move(reason), std::move(note)});
  }
  void enter(std::string_view phase, std::string note, bool warning = false) {
    step_.status->phase = Symbol(phase);
    tell(warning, std::string(phase), std::move(note));
  }

  // The end.

  void abort() {
    const std::string_view why = api::value_or(drain_.metadata.annotations, api::kDrainUnavailableAnnotation);
    if (!why.empty()) return refuse("NowhereToGo", std::string(why));
    enter("Aborted", "DrainNode Aborted");
  }
  void refuse(std::string_view reason, std::string message) {
    set_condition(*step_.status, "Refused", true, std::string(reason), message, api::Time(now_));
    enter("Aborted", std::move(message), true);
  }
  void uncordon() {
    if (is_marked()) write({.act = Act::kUncordon});
  }
  void undo() {
    // What would still evict goes first.
    for (const auto& job : scene_.jobs)
      if (is_made_by(job->metadata, drain_))
        write({.act = Act::kDeleteJob, .name = job->metadata.name, .uid = job->metadata.uid});
    for (const auto& room : scene_.reservations)
      if (is_made_by(room->metadata, drain_)) give_up(*room);
    uncordon();
  }
  void time_is_over() {
    undo();
    if (step_.writes.empty())
      write({.act = Act::kDeleteDrain, .name = drain_.metadata.name, .uid = drain_.metadata.uid});
  }
  void give_up(const api::Reservation& room) {
    write({.act = Act::kDeleteReservation, .name = room.metadata.name, .uid = room.metadata.uid});
  }
  void write(NodeWrite what) { step_.writes.push_back(std::move(what)); }

  // The beginning.

  void begin() {
    if (drain_.metadata.name.size() > kMaxName)
      return refuse("NameTooLong",
                    fmt::format("metadata.name has {} characters: labels, which say whose reservations and "
                                "jobs are, hold no more than {}",
                                drain_.metadata.name.size(), kMaxName));
    if (scene_.node == nullptr)
      return refuse("NoSuchNode",
                    fmt::format("spec.nodeName: there is no node \"{}\"", drain_.spec.node_name));
    if (!scene_.held_by.empty())
      return refuse("NodeIsTaken", fmt::format("spec.nodeName: node \"{}\" is drained by DrainNode \"{}\"",
                                               drain_.spec.node_name, scene_.held_by));
    if (drain_.status.phase.empty()) {
      enter("Pending", "Initialized");
      return;
    }
    if (cordon()) enter("Running", "Running");
  }
  /// Whether the node is seen to be marked.
  bool cordon() {
    if (scene_.node == nullptr || cordoned(*scene_.node, drain_) == *scene_.node) return true;
    write({.act = Act::kCordon});
    return false;
  }

  // The pods.

  void run() {
    // Room that is made for its pods must not be made on the node itself.
    if (!cordon()) return;
    chart();
    sum_up();
  }
  void watch() {
    chart();
    sum_up();
  }

  const LeavingPod* pod_of(std::string_view uid) const {
    const auto at = std::ranges::find(
        scene_.pods, uid, [](const LeavingPod& p) -> const std::string& { return p.pod->metadata.uid; });
    return at == scene_.pods.end() ? nullptr : &*at;
  }
  bool evicts_directly() const { return drain_.spec.migration_policy.job_mode == "EvictDirectly"; }
  bool is_confirmed() const { return drain_.spec.confirm_state == "Confirmed"; }
  bool is_running() const { return drain_.status.phase == "Running"; }

  void chart() {
    std::vector<api::PodMigration>& all = step_.status->pod_migrations;
    for (const LeavingPod& leaving : scene_.pods) {
      const api::ObjectMeta& meta = leaving.pod->metadata;
      if (std::ranges::find(all, meta.uid, &api::PodMigration::pod_uid) != all.end()) continue;
      api::PodMigration& fresh = all.emplace_back();
      fresh.pod_uid = meta.uid;
      fresh.namespace_ = meta.namespace_;
      fresh.pod_name = meta.name;
      fresh.phase = Symbol("Waiting");
      fresh.start_timestamp = api::Time(now_);
      fresh.charted_after_drain_node_confirmed = is_confirmed();
    }
    std::erase_if(all, [this](api::PodMigration& migration) { return !advance(migration); });
    std::ranges::stable_sort(all, {}, [](const api::PodMigration& m) {
      return std::pair<std::string_view, std::string_view>(m.namespace_.view(), m.pod_name);
    });
  }

  /// False: there is nothing to tell of it.
  bool advance(api::PodMigration& migration) {
    const std::string name = part_name(drain_.metadata.name, migration.pod_uid);
    const api::Reservation* const room = find_named(scene_.reservations, name);
    const api::PodMigrationJob* const job = find_named(scene_.jobs, name);
    const bool room_is_mine = room != nullptr && is_made_by(room->metadata, drain_);
    const bool job_is_mine = job != nullptr && is_made_by(job->metadata, drain_);
    if (room_is_mine) {
      migration.reservation_name = name;
      migration.reservation_phase = room->status.phase;
      if (!room->status.node_name.empty()) migration.target_node = room->status.node_name;
    }
    if (job_is_mine) {
      migration.pod_migration_job_name = name;
      migration.pod_migration_job_phase = job->status.phase;
      migration.pod_migration_job_paused = job->spec.paused;
    }
    const LeavingPod* const leaving = pod_of(migration.pod_uid);
    if (leaving == nullptr)
      return gone(migration, room_is_mine ? room : nullptr, job_is_mine ? job : nullptr);
    if (migration.phase == "Succeed" || (!job_is_mine && !is_running())) return true;
    if (migration.phase == "Failed" || (job_is_mine && phase_by_job(*job) == "Failed")) {
      migration.phase = Symbol("Failed");
      if (room_is_mine && is_free(*room)) give_up(*room);
      return true;
    }
    migration.phase =
        Symbol(job_is_mine ? phase_by_job(*job) : phase_before_job(migration, *leaving, room, job));
    return true;
  }

  bool gone(api::PodMigration& migration, const api::Reservation* room, const api::PodMigrationJob* job) {
    if (job != nullptr) {
      // It has left; what its successor still waits for, the job knows.
      migration.phase = Symbol(migration::is_finished(*job) ? "Succeed" : "Migrating");
      return true;
    }
    if (room != nullptr && migration.pod_migration_job_name.empty()) {
      if (room->status.current_owners.empty()) give_up(*room);
      migration.phase = Symbol("Succeed");
      return true;
    }
    if (migration.reservation_name.empty() && migration.pod_migration_job_name.empty()) return false;
    migration.phase = Symbol("Succeed");
    return true;
  }

  bool may_go(const LeavingPod& leaving) const {
    // Room is made for the pods of a controller: nobody else would make another pod.
    if (!evicts_directly() && api::controller_of(leaving.pod->metadata) == nullptr) return false;
    return leaving.why_not.empty() || drain_.metadata.annotations.contains(api::kEvictAnnotation);
  }

  static std::string_view phase_by_job(const api::PodMigrationJob& job) {
    return job.status.phase == "Failed" || job.status.phase == "Aborted" ? "Failed" : "Migrating";
  }

  std::string_view phase_before_job(const api::PodMigration& migration, const LeavingPod& leaving,
                                    const api::Reservation* room, const api::PodMigrationJob* other_job) {
    const api::Pod& pod = *leaving.pod;
    const bool is_ending = pod.metadata.deletion_timestamp.has_value();
    // What ends by itself needs no room, and whoever ends it has seen to the rest; but it is still there.
    if (is_ending && room == nullptr) return "Waiting";
    const auto policy = api::read_annotation<api::DrainMigrationPolicy>(pod.metadata.annotations,
                                                                        api::kDrainMigrationPolicyAnnotation);
    if (!policy || (!is_ending && !may_go(leaving))) {
      if (room != nullptr && is_made_by(room->metadata, drain_) && is_free(*room)) give_up(*room);
      return "Unmigratable";
    }
    const bool was_waiting = migration.phase == "Waiting" || migration.phase == "Unmigratable";
    if (was_waiting && !is_ready(migration, *policy)) return "Waiting";
    if (other_job != nullptr) return "Unavailable";
    if (evicts_directly()) return begin_job(migration, leaving, nullptr);
    if (room == nullptr) {
      write({.act = Act::kCreateReservation,
             .name = part_name(drain_.metadata.name, migration.pod_uid),
             .pod = leaving.pod});
      return "Ready";
    }
    if (!is_made_by(room->metadata, drain_)) return "Unavailable";
    if (is_free(*room)) return begin_job(migration, leaving, room);
    const Symbol& phase = room->status.phase;
    if (phase == "Failed" || phase == "Succeeded" || !room->status.current_owners.empty()) {
      give_up(*room);  // another is made once it is gone
      return "Unavailable";
    }
    return is_unschedulable(*room) ? "Unavailable" : "Ready";
  }

  std::string_view begin_job(const api::PodMigration& migration, const LeavingPod& leaving,
                             const api::Reservation* room) {
    if (!is_confirmed()) return "Available";
    write({.act = Act::kCreateJob,
           .name = part_name(drain_.metadata.name, migration.pod_uid),
           .pod = leaving.pod,
           .room = room,
           .paused = migration.charted_after_drain_node_confirmed &&
                     drain_.metadata.annotations.contains(api::kDrainPausedAfterConfirmedAnnotation)});
    return "Migrating";
  }

  bool is_ready(const api::PodMigration& migration, const std::optional<api::DrainMigrationPolicy>& own) {
    const api::DrainMigrationPolicy& general = drain_.spec.migration_policy;
    const auto until = [](const api::DrainMigrationPolicy& policy, const api::Time& from) {
      return from.wall() + (policy.wait_duration ? policy.wait_duration->value : nanoseconds(kDefaultWait));
    };
    WallTime ready = until(general, drain_.metadata.creation_timestamp);
    bool at_once = general.mode == "MigrateDirectly";
    if (own && (own->mode == "MigrateDirectly" || own->mode == "WaitFirst")) {
      ready = std::min(ready, until(*own, migration.start_timestamp));
      at_once = own->mode == "MigrateDirectly";
    }
    if (at_once || now_ > ready) return true;
    wake(ready + std::chrono::seconds(1));
    return false;
  }

  // What is told of them.

  void sum_up() {
    api::DrainNodeStatus& status = *step_.status;
    status.pod_migration_summary.clear();
    for (const std::string_view phase : kPhases) status.pod_migration_summary[phase] = 0;
    for (const api::PodMigration& migration : status.pod_migrations)
      ++status.pod_migration_summary[migration.phase];
    const auto count = [&](std::string_view phase) { return *status.pod_migration_summary.find(phase); };

    std::vector<std::string_view> unexpected;
    unexpected.assign(scene_.foreign_rooms.begin(), scene_.foreign_rooms.end());
    say("UnexpectedReservationExists", !unexpected.empty(),
        fmt::format("unexpected reservation count: {},", unexpected.size()),
        fmt::format("unexpectedRR: [{}]", fmt::join(unexpected, " ")));
    const std::string unmigratable = fmt::format("unmigratable pod count: {}", count("Unmigratable"));
    say("UnmigratablePodExists", count("Unmigratable") != 0, unmigratable, with_reasons(unmigratable));
    const std::string unavailable = fmt::format("unavailable reservation count: {}", count("Unavailable"));
    say("UnavailableReservationExists", count("Unavailable") != 0, unavailable, unavailable);
    const std::string failed = fmt::format("failed job count: {}", count("Failed"));
    say("FailedMigrationJobExists", count("Failed") != 0, failed, failed);
    if (count("Waiting") + count("Ready") + count("Unavailable") + count("Unmigratable") == 0 &&
        !holds(status, "OnceAvailable"))
      say("OnceAvailable", true, "OnceAvailable",
          "no unmigratable, waiting, ready and unavailable migration");

    const bool busy = count("Waiting") + count("Ready") + count("Available") + count("Migrating") != 0;
    if (!is_running())
      say("UnexpectedPodAfterCompleteExists", busy, busy ? "UnexpectedPodAfterCompleteExists" : "",
          busy ? "some unexpected pod scheduled to this node after drainNode has completed" : "");
    else if (!busy && count("Unavailable") == 0)
      enter("Complete", count("Failed") + count("Unmigratable") == 0
                            ? fmt::format("Complete, {} pods have left", count("Succeed"))
                            : fmt::format("Complete, {} pods have left, {} could not be moved",
                                          count("Succeed"), count("Failed") + count("Unmigratable")));
  }
  std::string with_reasons(std::string text) const {
    // The first few: a status is read by people.
    std::size_t told = 0;
    for (const LeavingPod& leaving : scene_.pods) {
      if (leaving.why_not.empty()) continue;
      if (++told > 3) break;
      text += fmt::format("; {}/{}: {}", leaving.pod->metadata.namespace_.view(), leaving.pod->metadata.name,
                          leaving.why_not);
    }
    return text;
  }
  void say(std::string_view type, bool value, std::string reason, std::string message) {
    const bool before = holds(*step_.status, type);
    if (value && !before && type != "OnceAvailable") tell(true, std::string(type), message);
    set_condition(*step_.status, type, value, std::move(reason), std::move(message), api::Time(now_));
  }

  const api::DrainNode& drain_;
  const NodeScene& scene_;
  const WallTime now_;
  const std::optional<WallTime> ends_;
  NodeStep step_;
};

}  // namespace

NodeStep next_step(const api::DrainNode& drain, const NodeScene& scene, WallTime now) {
  return Look(drain, scene, now).next();
}

bool is_undone(const api::DrainNode& drain, const NodeScene& scene) {
  return Look(drain, scene, {}).undone();
}

api::PodMigrationJob job_for(const api::DrainNode& drain, const api::Pod& pod, const api::Reservation* room,
                             bool paused) {
  api::PodMigrationJob job;
  job.metadata.name = part_name(drain.metadata.name, pod.metadata.uid);
  job.metadata.labels[api::kDrainNodeLabel] = Symbol(drain.metadata.name);
  if (drain.metadata.annotations.contains(api::kEvictAnnotation))
    job.metadata.annotations[api::kEvictAnnotation] = "true";
  job.metadata.annotations[api::kEvictReasonAnnotation] =
      Symbol(fmt::format("node {} is drained by DrainNode {}", drain.spec.node_name, drain.metadata.name));
  api::OwnerReference& owner = job.metadata.owner_references.emplace_back();
  owner.api_version = Symbol(api::kind<api::DrainNode>().api_version());
  owner.kind = Symbol(api::kind<api::DrainNode>().kind);
  owner.name = Symbol(drain.metadata.name);
  owner.uid = Symbol(drain.metadata.uid);
  owner.controller = owner.block_owner_deletion = true;
  job.spec.paused = paused;
  api::ObjectReference& who = job.spec.pod_ref.emplace();
  who.namespace_ = pod.metadata.namespace_;
  who.name = pod.metadata.name;
  who.uid = pod.metadata.uid;
  if (room == nullptr) {
    job.spec.mode = Symbol("EvictDirectly");
    return job;
  }
  job.spec.mode = Symbol("ReservationFirst");
  api::ObjectReference& where = job.spec.reservation_options.emplace().reservation_ref.emplace();
  where.kind = Symbol(api::kind<api::Reservation>().kind);
  where.api_version = Symbol(api::kind<api::Reservation>().api_version());
  where.name = room->metadata.name;
  where.uid = room->metadata.uid;
  return job;
}

}  // namespace koord::descheduler::drain
