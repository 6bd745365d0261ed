// What a PodMigrationJob needs next: the state machine, pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/base/clock.hpp"
#include "migration/jobs/spare_rooms.hpp"

namespace koord::descheduler::migration {

/// What there is in the cluster of what a job is about; nullptr: nothing. Only what has been read for
/// certain: while something is not known, a job is not looked at.
struct Scene {
  const api::Pod* pod = nullptr;                  // of the name that the job gives
  const api::Reservation* reservation = nullptr;  // that the job refers to
  const api::Pod* successor = nullptr;            // the reservation's first owner, where it has one
  /// The API server was asked for the pod once the reservation had an owner, and it is there and not ending:
  /// that owner is no successor of the pod's.
  bool pod_stays = false;
  /// Where that owner is of the pod's workload: the room that other migrations leave for the pod's successor.
  Spare spare = Spare::none;
};

/// Of the events.k8s.io kind; its action is "Migrating".
struct JobEvent {
  bool warning = false;
  std::string reason;
  std::string note;
  friend bool operator==(const JobEvent&, const JobEvent&) = default;
};

/// One step. Nothing is remembered between two steps: after each the job is looked at anew as it then is, so
/// any process may go on with it.
struct Step {
  enum class Act {
    kWait,               // nothing, until an object changes or wake_at
    kPinPod,             // the pod's UID into the job's reference
    kCreateReservation,  // and the reference to it into the job
    kEvict,  // ask for it, once more where it has been asked for; if it fails: after_failed_eviction()
    kDeleteReservation,  // and write `status` once it is gone
    kWriteStatus,        // nothing else
  };
  Act act = Act::kWait;
  std::optional<api::PodMigrationJobStatus> status;  // kDeleteReservation, kWriteStatus
  std::optional<JobEvent> event;                     // once `status` is written
  std::optional<WallTime> wake_at;                   // kWait, kEvict: when the job's time is over
};

/// `default_mode` is that of jobs that name none. Phases, conditions, reasons and messages are Koordinator's.
Step next_step(const api::PodMigrationJob& job, const Scene& scene, std::string_view default_mode,
               WallTime now);

/// What to write after a request to evict has failed with `error`.
Step after_failed_eviction(const api::PodMigrationJob& job, std::string_view error, WallTime now);
/// The same of one to create the reservation.
Step after_failed_reservation(const api::PodMigrationJob& job, std::string_view error, WallTime now);

/// Why the pod is to go, in the words of whoever made the job, else the plugin's name; of bounded length.
std::string_view reason_of(const api::PodMigrationJob& job);

/// When its time is over; nothing: never.
std::optional<WallTime> ends_at(const api::PodMigrationJob& job);

/// Succeeded, Failed or Aborted: such a job is never written again.
bool is_finished(const api::PodMigrationJob& job);

}  // namespace koord::descheduler::migration
