// Controller: goes on with PodMigrationJobs, whoever has made them.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "evictions/pod_evictions.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/async/event.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/token_bucket.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "koord/kube/work_queue.hpp"
#include "migration/filters.hpp"
#include "migration/job_writes.hpp"
#include "migration/jobs/book.hpp"
#include "migration/jobs/progress.hpp"
#include "migration/jobs/recent_nodes.hpp"
#include "migration/object_limiter.hpp"
#include "migration/workloads.hpp"

namespace koord::descheduler::migration {

/// Woken by what happens to jobs, reservations and pods; each job is one key of a work queue, so that its
/// writes come one after another. Nothing is kept that a process after it would need: what is written stands
/// on the job or has its UID for a name. One for all profiles; belongs to the role's strand.
class Controller {
 public:
  static constexpr std::chrono::seconds kAskAgain{30};  // a pod that was let go and does not go
  // After an eviction that was refused: twice as long each time.
  static constexpr std::chrono::milliseconds kRefused{100}, kRefusedOften{30'000};
  static constexpr std::chrono::minutes kScavenge{1}, kLinger{5}, kLingerWithoutTtl{30};

  struct Parts {
    Clock& clock;
    Logger log;
    kube::Client& client;
    kube::Informer<api::PodMigrationJob> jobs;
    kube::Informer<api::Reservation> reservations;
    kube::Informer<api::Pod> pods;
    Workloads& workloads;
    std::function<Task<Result<>>(PodPtr, EvictionPolicy, EvictOptions)> ask;
    std::function<bool()> may_write;
    std::function<void(const api::PodMigrationJob&, const JobEvent&)> tell;
    std::function<void(const api::Pod&, const JobEvent&)> tell_pod;
    bool without_claims = false;  // the gate DisablePVCReservation
    bool dry_run = false;         // follows what there is, does nothing
    /// For so long none of a workload's pods is given room on a node that one of them has left.
    nanoseconds stays_away = std::chrono::minutes(5);
  };
  explicit Controller(Parts parts)
      : parts_(std::move(parts)),
        writes_(parts_.client, parts_.may_write),
        left_(parts_.stays_away),
        reached_(parts_.stays_away) {}
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  /// Before start(). Jobs of a profile, which the annotation names, are judged by its arguments; those of
  /// users by the first profile's, whose are the rates, the interval and the number of workers, too.
  Filters& add_profile(const std::string& name, std::shared_ptr<const MigrationControllerArgs> args,
                       std::function<std::optional<std::int32_t>(std::string_view)> priority_of);
  /// Once; what a second profile starts is the same.
  void start(TaskGroup& tasks);
  void stop();

  /// All that there was at the start is known.
  bool synced() const { return synced_.is_set(); }
  Task<Result<>> wait_synced() { return synced_.wait(); }
  const JobBook& book() const { return book_; }
  /// A job for the pod of a profile; its limits are not asked.
  Task<Result<>> create(api::PodMigrationJob job);
  // Of a dry run, which follows what there is and writes nothing: the job counts as if it were there, until
  // the rehearsal of another pass begins.
  void rehearse(api::PodMigrationJob job);
  void begin_rehearsal(std::uint64_t pass);
  /// How long the pod has to wait since others like it were evicted lately; 0: not at all.
  nanoseconds held_back(const api::Pod& pod, const std::string& profile);
  /// Its node was found for it, or for another of its workload, a moment ago, or somebody comes to it yet.
  bool has_just_come(const api::Pod& pod) const;
  /// Something is known that was not: jobs that wait are looked at.
  void wake() { wake_.set(); }

 private:
  using Again = std::optional<nanoseconds>;  // nothing: once something changes
  struct Profile {
    std::shared_ptr<const MigrationControllerArgs> args;
    std::unique_ptr<Filters> filters;
    std::map<std::string, ObjectLimits> limits;  // by "workload", "namespace"
  };
  /// What this process knows of a job that is not written anywhere and may be lost.
  struct Local {
    bool pod_gone = false;         // the API server has no such pod
    bool counted = false;          // its eviction is in the limits
    bool ordered = false;          // the reservation has its label
    std::optional<MonoTime> turn;  // when the rate lets it evict
    std::optional<MonoTime> asked;
    unsigned refusals = 0;             // of its eviction, one after another
    std::optional<MonoTime> not_soon;  // before then it is not asked for again, whatever happens
  };
  struct Held {
    PodPtr pod, successor;
    std::shared_ptr<const api::Reservation> reservation;
    bool pod_stays = false;
    Spare spare = Spare::none;
    Scene scene() const { return {pod.get(), reservation.get(), successor.get(), pod_stays, spare}; }
    bool has_lost_its_room() const { return migration::has_lost_its_room(reservation.get(), pod.get()); }
  };

  // controller.cpp: what happens, and when who is looked at
  Task<Result<>> watch();
  void apply(const kube::Change& change);
  void apply_job(const std::shared_ptr<const api::PodMigrationJob>& before, const JobPtr& after);
  void apply_pod(const PodPtr& before, const PodPtr& after);
  void forget(const api::PodMigrationJob& job);
  void look_at(const std::vector<std::string>& names);
  void look_at_line(const api::PodMigrationJob& job);
  Task<Result<>> arbitrate_jobs();
  Task<Result<>> work();
  Task<Result<>> release_leftovers();
  Task<Result<>> scavenge();
  Task<Result<>> scavenge_once();
  void find_orphans();
  void remember_evictions();
  void remember_arrival(const api::PodMigrationJob& job);
  PodPtr pod_of(const api::PodMigrationJob& job) const;
  PodPtr present_pod(const api::PodMigrationJob& job) const;  // whatever its UID
  std::shared_ptr<const api::Reservation> unused_room(const api::PodMigrationJob& job) const;
  Profile& profile_of(const api::PodMigrationJob& job);
  nanoseconds held_back(const api::Pod& pod, Profile& profile);
  void count_eviction(std::string_view workload, std::string_view ns, WallTime at);

  // steps.cpp: one job
  Task<Result<Again>> advance(std::string name);
  Task<Result<Again>> release_unused(JobPtr job);
  Task<Result<std::optional<Again>>> take_step(JobPtr job);
  Task<Result<std::optional<Again>>> let_pass(JobPtr job);
  Task<Result<std::optional<Again>>> forbid(JobPtr job);
  Task<Result<std::optional<Again>>> give_up_room(JobPtr job);
  Task<Result<Held>> look(JobPtr job);
  Task<Result<PodPtr>> read_pod(std::string ns, std::string name);
  Task<Result<std::optional<Again>>> reserve(JobPtr job);
  Task<Result<std::optional<Again>>> evict(JobPtr job, PodPtr pod, std::optional<WallTime> end);
  Task<Result<std::optional<Again>>> write(JobPtr job, Step step);
  Task<Result<std::optional<Again>>> settle(JobPtr job, Result<JobPtr> written,
                                            std::optional<JobEvent> event);
  Again until(std::optional<WallTime> end, Again sooner = {}) const;
  WallTime next_order();
  std::shared_ptr<const api::Reservation> room_of(const api::PodMigrationJob& job) const;
  bool has_turn(const api::PodMigrationJob& job, const api::Reservation& own) const;
  Spare spare_room_for(const JobPtr& job, const Held& held) const;
  std::vector<std::string> nodes_to_avoid(const api::PodMigrationJob& job) const;
  bool comes_back(const api::PodMigrationJob& job, const api::Reservation& room) const;
  bool is_awaited_there(const api::Pod& pod) const;  // another of its workload, at its node

  Parts parts_;
  JobWrites writes_;
  JobBook book_;
  std::vector<std::pair<std::string, Profile>> profiles_;  // in the configuration's order
  std::unordered_map<std::string, Local> locals_;          // by the job's UID
  std::set<std::string, std::less<>> waiting_workloads_;   // controllers whose pods' jobs wait
  /// Jobs whose turn it is not yet, by their workload.
  std::map<std::string, std::set<std::string>, std::less<>> lines_;
  WallTime last_order_;  // of a reservation
  RecentNodes left_, reached_;
  std::vector<JobPtr> rehearsed_;
  std::uint64_t rehearsal_ = 0;  // the pass whose they are
  kube::WorkQueue<std::string> queue_{
      parts_.clock,
      {.backoff_first = std::chrono::milliseconds(100), .backoff_max = std::chrono::seconds(30)}};
  /// Names of reservations of jobs that are gone.
  kube::WorkQueue<std::string> leftovers_{
      parts_.clock,
      {.backoff_first = std::chrono::milliseconds(100), .backoff_max = std::chrono::seconds(60)}};
  kube::DeliveryQueue changes_;
  Event wake_;
  std::optional<TokenBucket> rate_;
  TaskGroup* tasks_ = nullptr;
  Event synced_;
  bool stopped_ = false;
};

}  // namespace koord::descheduler::migration
