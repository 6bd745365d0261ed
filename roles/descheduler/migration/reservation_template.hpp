// The Reservation that a job needs, made from the pod that is to move.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"
#include "migration/jobs/made_by.hpp"

namespace koord::descheduler::migration {

/// The job's spec.reservationOptions.template with what it leaves open: named like the job's UID, for a pod
/// like `pod` (the whole document, as the API server has it) on any node but its own and `away`, owned by the
/// pod's controller, or by the pod itself where it has no node and the scheduler found none; used once, gone
/// with the job's time. `without_claims`: volumes from claims are left out. An error names what of the job
/// cannot be read.
Result<std::string> reservation_template(const api::PodMigrationJob& job, std::string_view pod,
                                         bool without_claims, WallTime now,
                                         std::span<const std::string> away = {});

/// The value of the label reservation-order of one that is made then.
std::string reservation_order(WallTime now);

/// The document to create from such a template.
Result<std::string> reservation_document(std::string_view made);

}  // namespace koord::descheduler::migration
