// TickView: what one tick of the sampler saw. Collectors (collectors/) show what they have read in it;
// strategies and `koord top` read the same one, so that their sums agree.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "framework/model/inventory.hpp"
#include "framework/model/node_facts.hpp"
#include "koord/base/clock.hpp"
#include "koord/host/run_queue_latency.hpp"

namespace koord::koordlet {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
inline bool known(double value) { return !std::isnan(value); }

/// What something used: NaN (kUnknown) where it could not be read or has no earlier sample yet.
struct Usage {
  double cpu = kUnknown;     // CPUs, over the time since the tick before
  double memory = kUnknown;  // bytes, by the policy without page cache
  double memory_with_page_cache = kUnknown;
  /// Throttled periods per period since the tick before, in [0, 1]; NaN where there was no period.
  double throttled = kUnknown;
};

struct NumaUsage {
  int id = 0;
  double cpu = kUnknown;
  double memory = kUnknown;
};

/// Of one resource: the share of the last ten seconds, in percent, and the time in all since the group was
/// made, in microseconds, that some of its tasks, or all of them, stood still for want of it.
struct Stall {
  double some_avg10 = kUnknown, full_avg10 = kUnknown;
  double some_total_us = kUnknown, full_total_us = kUnknown;
};
struct Pressure {
  Stall cpu, memory, io;
};

/// What the best-effort tier has and uses; CPU in thousandths.
struct BestEffortUse {
  double usage_milli = kUnknown;       // of its roots, with all that is in them
  double request_milli = kUnknown;     // the sum of kubernetes.io/batch-cpu of BE pods
  double real_limit_milli = kUnknown;  // its cpuset capped by its quota
  double memory = kUnknown;            // bytes, of its roots, without page cache
};

struct BlamedWaits;
struct ClaimedUse;
struct RunQueueWaits;

/// Valid during the call that hands it out; copy what is to be kept.
struct TickView {
  std::uint64_t tick = 0;
  MonoTime at;
  WallTime wall;
  nanoseconds interval{};  // the configured distance of ticks
  std::shared_ptr<const Inventory> inventory;
  Usage node;
  std::span<const NumaUsage> numa;  // the NUMA nodes that have memory of their own, ascending by number
  int online_cpus = 0;              // 0: not known yet
  /// node - pods - host applications, at least 0, where the CPU of those in the best-effort roots is the
  /// roots'; unknown if any input is older than the configured age (--collect-sys-metric-outdated-interval).
  Usage system;
  BestEffortUse best_effort;
  std::span<const Usage> pods;  // one for each of inventory->pods
  /// One for each container of inventory->pods, pod by pod in the order of PodInfo::containers.
  std::span<const Usage> containers;
  std::span<const Usage> host_applications;  // one for each of inventory->host_applications
  /// What all of these use together (framework/sampler/claimed_use.hpp).
  const ClaimedUse* claimed = nullptr;
  /// As it was read last, every --psi-collector-interval while the gate PSICollector is on; else, and where
  /// the kernel does not tell, all of it is unknown. One for each pod and container, as above.
  Pressure node_pressure;
  std::span<const Pressure> pod_pressure, container_pressure;
  /// How much of the waiting for a CPU is traced now.
  host::RunQueueLatency::Tracing tracing = host::RunQueueLatency::Tracing::full;
  /// How long tasks waited for a CPU, of the last period that was read (framework/tick/run_queue_waits.hpp);
  /// null where the kernel does not tell, and while tracing is paused. By a sample of the waits while it
  /// samples.
  const RunQueueWaits* waits = nullptr;
  /// Who ran while latency-sensitive tasks waited for a CPU (framework/tick/blamed_waits.hpp), of the last
  /// second; null where nobody asks for it or the kernel does not tell.
  const BlamedWaits* blamed = nullptr;
  /// Whether every pod and application of the inventory was read; a strategy that sums must not act otherwise
  /// if it would take from somebody.
  bool complete = false;
  /// When the inventory's pods were last confirmed; nothing: never.
  std::optional<MonoTime> pods_listed;
  /// What the machine is made of; null until it could be read.
  std::shared_ptr<const NodeFacts> facts;
};

}  // namespace koord::koordlet
