// JobCosts: what it costs to empty a node, in Koordinator's preemption of jobs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling::preemption {

/// Of some pods: the highest priority of each of their jobs (job_of_victim()), ascending.
using JobPriorities = std::vector<std::int32_t>;
JobPriorities job_priorities(std::span<const PodInfo* const> pods);

/// A node costs the sum over the jobs of its possible victims of the rank that the job's priority has among
/// those of all nodes, the lowest one's being 0 (Koordinator's estimatePreemptionCost; there a job counts
/// with whichever of its pods comes first).
class JobCosts {
 public:
  /// Of one node. All nodes first.
  void add(const JobPriorities& jobs) { ranks_.insert(ranks_.end(), jobs.begin(), jobs.end()); }
  void rank();
  /// Of what was added, once it is ranked.
  std::int64_t of(const JobPriorities& jobs) const;

 private:
  std::vector<std::int32_t> ranks_;  // priorities, ascending
};

}  // namespace koord::scheduling::preemption
