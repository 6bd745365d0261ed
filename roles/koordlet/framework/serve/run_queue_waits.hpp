// RunQueueWaits: how long tasks waited for a CPU, by pod and container.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "koord/host/run_queue_latency.hpp"

namespace koord::koordlet {

/// Of one period of RunQueue::kPeriod, each with all cgroups below it. Who did not wait is not in it.
struct RunQueueWaits {
  std::uint64_t reading = 0;  // grows with each period that was read
  std::unordered_map<std::string, host::LatencyHistogram> pods, containers;  // by uid, by id
};

}  // namespace koord::koordlet
