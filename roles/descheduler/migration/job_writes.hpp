// JobWrites: what is written of jobs and their reservations.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/kube/client.hpp"

namespace koord::descheduler::migration {

/// On whose behalf something is done for a job, whoever has made it.
kube::Initiator initiator_of(const api::PodMigrationJob& job, std::string why);

/// Each write is for the version that was looked at: of another one, and of another job of the name, the
/// error is Code::conflict, of none Code::not_found. Code::unavailable: nothing may be written now.
class JobWrites {
 public:
  using JobPtr = std::shared_ptr<const api::PodMigrationJob>;
  using ReservationPtr = std::shared_ptr<const api::Reservation>;

  /// The client outlives it.
  JobWrites(kube::Client& client, std::function<bool()> may_write)
      : client_(client), may_write_(std::move(may_write)) {}

  /// Each returns the job as it is then.
  Task<Result<JobPtr>> create(api::PodMigrationJob job);
  Task<Result<JobPtr>> change(JobPtr before, api::PodMigrationJob after, std::string why);
  Task<Result<JobPtr>> set_status(JobPtr before, api::PodMigrationJobStatus status);
  Task<Result<>> remove(JobPtr job, std::string why);
  /// Code::not_found also where another job has the name.
  Task<Result<JobPtr>> newest(JobPtr job);

  /// Makes it from a document, or finds it again: one that has the job's UID for its name, or says that the
  /// descheduler made it. Of anybody else's the error is Code::already_exists.
  Task<Result<ReservationPtr>> reserve(std::string document, JobPtr job);
  /// Gives one that the job refers to its place among others, by the label reservation-order.
  Task<Result<>> set_order(ReservationPtr reservation, JobPtr job, WallTime now);
  /// Of that UID and version, where they are given. True of one that is gone, or not that one (any more),
  /// too. `job`: whose it is; nullptr: of one that is gone.
  Task<Result<>> release(std::string reservation, std::string uid, std::string resource_version, JobPtr job,
                         std::string why);

 private:
  Task<Result<JobPtr>> patch(JobPtr before, api::PodMigrationJob after, std::string subresource,
                             std::string why);
  Result<> may_write() const;

  kube::Client& client_;
  std::function<bool()> may_write_;
};

}  // namespace koord::descheduler::migration
