// Normalization: on CPUs that are faster than those that pods ask for, less time gives what they ask for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "framework/model/inventory.hpp"
#include "koord/base/feature_gate.hpp"

namespace koord::koordlet {

/// A quota on CPUs that are `ratio` times as fast; ratios up to 1 change nothing.
inline std::int64_t normalized_quota(std::int64_t quota, double ratio) {
  constexpr std::int64_t kLeast = 1000;  // the kernel's
  if (quota <= 0 || ratio <= 1) return quota;
  return std::max(kLeast, static_cast<std::int64_t>(std::ceil(static_cast<double>(quota) / ratio)));
}

/// By what the quotas of a pod are divided that lives of the shared CPUs; 1 for all others, and where the
/// gate CPUNormalization is off.
inline double shared_ratio(const Inventory& inventory, const FeatureGates& gates, const PodInfo& pod) {
  const bool shares = (pod.qos == Qos::ls || pod.qos == Qos::none) && !(pod.qos == Qos::none && pod.cpus);
  return shares && gates.enabled("CPUNormalization") ? inventory.node.cpu_normalization : 1;
}

}  // namespace koord::koordlet
