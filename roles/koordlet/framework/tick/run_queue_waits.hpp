// RunQueueWaits: how long tasks waited for a CPU, by pod and container.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "koord/host/run_queue_latency.hpp"

namespace koord::koordlet {

/// In a tick's view: of the last period that was read; null where the kernel does not tell, and while tracing
/// is paused. By a sample of the waits while it samples.
struct RunQueueWaits {
  std::uint64_t reading = 0;  // grows with each period that was read
  /// Of one period, each with all cgroups below it: a pod's figures include its containers', a slice's those
  /// of its services. Who did not wait is not in it; nor is what waited in a cgroup that was removed within
  /// the period.
  std::unordered_map<std::string, host::LatencyHistogram> pods, containers;  // by uid, by id
  /// The uid of the pod that each cgroup at or below a pod's belongs to.
  std::unordered_map<host::RunQueueLatency::GroupId, const std::string*> owners;
};

}  // namespace koord::koordlet
