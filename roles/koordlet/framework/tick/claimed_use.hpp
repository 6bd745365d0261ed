// ClaimedUse: what pods and host applications use together: all but the system's.
#pragma once

#include <vector>

namespace koord::koordlet {

/// Each counts with its last good values.
struct ClaimedUse {
  /// Whether all pods are known and no value is older than the configured age
  /// (--collect-sys-metric-outdated-interval); the rest counts only then.
  bool fresh = false;
  double cpu = 0;                  // CPUs, of what is outside of the best-effort roots
  double best_effort_cpu = 0;      // and of what is inside
  double memory = 0;               // bytes
  std::vector<double> numa_bytes;  // of pods, by the NUMA node's number
};

}  // namespace koord::koordlet
