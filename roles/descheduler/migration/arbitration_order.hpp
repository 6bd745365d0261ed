// In which order jobs that wait are looked at.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"

namespace koord::descheduler::migration {

struct WaitingJob {
  std::shared_ptr<const api::PodMigrationJob> job;
  std::shared_ptr<const api::Pod> pod;  // nullptr: there is none
};

/// The later of these counts more: the newest first; then as pods go (see pod_order.hpp), those without a pod
/// before all; then those of one Job (batch) beside the first of them; then those of Jobs of which more pods
/// are being moved. `moving` says how many of a Job are, by its UID. What is alike stays as it was.
void order(std::vector<WaitingJob>& jobs, const std::function<std::size_t(std::string_view uid)>& moving);

}  // namespace koord::descheduler::migration
