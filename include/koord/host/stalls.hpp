// Stalls: how long the tasks of each tier reclaimed memory or waited for block devices, and whom the kernel
// killed for want of memory, counted in the kernel by eBPF.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "koord/base/result.hpp"
#include "koord/host/fine_histogram.hpp"

namespace koord::host {

/// The tiers are those that WaitBlame was told. Counts from the moment of opening on and as long as the
/// object lives, which may be longer than the WaitBlame. All figures are cumulative. Belongs to one thread at
/// a time.
class Stalls {
 public:
  enum Kind : std::uint8_t {
    reclaim,   // direct reclaim by a task that needs memory, a memory cgroup's limit included
    block_io,  // from a task's request to the device's answer; what the kernel writes back is the system's
    oom_kills,
  };
  static constexpr std::size_t kKinds = 3, kTiers = 5;

  struct Stalled {
    std::uint64_t ns = 0;
    FineHistogram histogram;
  };
  struct State {
    std::array<Stalled, kTiers> reclaim, block_io;
    std::array<std::uint64_t, kTiers> oom_kills{};
    std::uint64_t other_oom_kills = 0;  // before Linux 6.9 the kernel does not tell of whom
    std::uint64_t lost = 0;             // for want of room in the kernel's tables
  };

  Stalls() = default;
  Stalls(const Stalls&) = delete;
  Stalls& operator=(const Stalls&) = delete;
  virtual ~Stalls() = default;

  /// Why nothing of the kind is counted; empty: it is.
  virtual const std::string& missing(Kind kind) const = 0;
  virtual Result<> read(State& into) = 0;
};

}  // namespace koord::host
