// What a PodMigrationJob says that cannot be meant.
#pragma once

#include <string>

#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"

namespace koord::descheduler::migration {

/// Field and reason, as Kubernetes words them, of bounded length; empty: nothing is wrong. Whether what the
/// job names exists is another question, and a podRef without a name is reason InvalidPodRef.
std::string what_is_wrong(const api::PodMigrationJob& job);

}  // namespace koord::descheduler::migration
