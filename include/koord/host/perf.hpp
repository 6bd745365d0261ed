// PerfEvents: two events of the processor, or of the kernel, counted together for the tasks of one cgroup.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "koord/base/result.hpp"

namespace koord::host {

/// perf_event_attr's type and config.
struct PerfEvent {
  std::uint32_t type = 0;
  std::uint64_t config = 0;
};
/// The group of events that is counted: the kernel has both on the processor at once, or neither, so that
/// their ratio is right however often it takes them off for others.
struct PerfPair {
  PerfEvent first, second;
};
extern const PerfPair kCyclesAndInstructions;
/// Software events, which every kernel has: nanoseconds on a CPU, and switches to another task.
extern const PerfPair kTaskClockAndSwitches;

/// Of all CPUs together, each event scaled by the time for which it was wanted over that for which it was
/// counted.
struct PerfCounts {
  double first = 0, second = 0;
  /// Of the time in which it was wanted the share that belongs to CPUs that counted at all; 1 where no task
  /// ran.
  double covered = 1;
};

/// What the tasks at and below one cgroup did since it was made. Holds two descriptors a CPU.
class PerfCounter {
 public:
  PerfCounter() = default;
  PerfCounter(const PerfCounter&) = delete;
  PerfCounter& operator=(const PerfCounter&) = delete;
  virtual ~PerfCounter() = default;
  virtual Result<PerfCounts> read() = 0;
};

/// Belongs to one thread at a time.
class PerfEvents {
 public:
  static constexpr std::size_t kDescriptorsPerCpu = 2;

  /// Tries both events of this process. Code::unsupported: this machine or kernel has not got them (a virtual
  /// machine often has no counters of the processor's); Code::forbidden: this process may not. The message is
  /// one line with the reason.
  static Result<std::unique_ptr<PerfEvents>> open(const PerfPair& pair);

  PerfEvents() = default;
  PerfEvents(const PerfEvents&) = delete;
  PerfEvents& operator=(const PerfEvents&) = delete;
  virtual ~PerfEvents() = default;

  /// Begins to count for the cgroup with this folder, in the hierarchy that has perf_event. CPUs that are
  /// offline are left out. Code::not_found: there is no such group; Code::unavailable: no descriptors are
  /// left.
  virtual Result<std::unique_ptr<PerfCounter>> count(const std::string& folder,
                                                     std::span<const int> cpus) = 0;
};

}  // namespace koord::host
