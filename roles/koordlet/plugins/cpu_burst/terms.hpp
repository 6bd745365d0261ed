// BurstTerms: what a pod says of CPU burst (koordinator.sh/cpuBurst), where it says something: the rest is
// the node's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/model/pod_terms.hpp"

namespace koord::koordlet {

struct BurstTerms {
  std::string policy;  // empty: the node's
  std::optional<std::int64_t> cpu_burst_percent, cfs_quota_burst_percent, cfs_quota_burst_period_seconds;
};

void read_burst_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& complaints);

}  // namespace koord::koordlet
