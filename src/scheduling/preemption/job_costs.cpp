// JobCosts: see job_costs.hpp.
#include "scheduling/preemption/job_costs.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "scheduling/preemption/victims.hpp"

namespace koord::scheduling::preemption {

JobPriorities job_priorities(std::span<const PodInfo* const> pods) {
  std::vector<std::pair<std::string_view, std::int32_t>> jobs;  // few
  for (const PodInfo* pod : pods) {
    const std::string_view job = job_of_victim(*pod);
    const auto known = std::ranges::find(jobs, job, &std::pair<std::string_view, std::int32_t>::first);
    if (known == jobs.end())
      jobs.emplace_back(job, pod->priority);
    else
      known->second = std::max(known->second, pod->priority);
  }
  JobPriorities priorities;
  priorities.reserve(jobs.size());
  for (const auto& [job, priority] : jobs) priorities.push_back(priority);
  std::ranges::sort(priorities);
  return priorities;
}

void JobCosts::rank() {
  std::ranges::sort(ranks_);
  ranks_.erase(std::unique(ranks_.begin(), ranks_.end()), ranks_.end());
}

std::int64_t JobCosts::of(const JobPriorities& jobs) const {
  std::int64_t cost = 0;
  for (const std::int32_t priority : jobs)
    cost += std::ranges::lower_bound(ranks_, priority) - ranks_.begin();
  return cost;
}

}  // namespace koord::scheduling::preemption
