// Conditions of a PodMigrationJob.
#pragma once

#include <string>
#include <string_view>

#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"

namespace koord::descheduler::migration {

/// nullptr: there is none of the type.
const api::PodMigrationJobCondition* condition_of(const api::PodMigrationJobStatus& status,
                                                  std::string_view type);

/// Adds it, or changes the one of its type; the time of the transition stays where the condition's status
/// does. False if nothing has changed. Status, reason and message of the job follow the condition.
bool set_condition(api::PodMigrationJobStatus& status, std::string_view type, bool holds,
                   std::string_view reason, std::string_view message, api::Time now);
/// The same, but the job's status, reason and message stay.
bool note_condition(api::PodMigrationJobStatus& status, std::string_view type, bool holds,
                    std::string_view reason, std::string_view message, api::Time now);

}  // namespace koord::descheduler::migration
