// Relief: how far a container's memory.high is lifted while all of its tasks stand still in reclaim at it.
//
// memory.high never ends a group: where nothing can be reclaimed any more, it is throttled for ever (which is
// why KEP-2570 left the kubelet's MemoryQoS in alpha). What tells is the group's PSI: the share of time in
// which all of its tasks waited for memory ("full"), as Meta's senpai and systemd-oomd take it. Here it is
// smoothed over 5 s; at 10% of it and more, at its own memory.high, the limit goes up by a tenth of what is
// between it and the container's limit, every 5 s; after each minute below 1% it comes back by a tenth.
#pragma once

#include <cstdint>
#include <optional>

#include "koord/base/clock.hpp"

namespace koord::koordlet::memory_qos {

class Relief {
 public:
  static constexpr int kSteps = 10;  // all of them: nothing below the container's limit holds it back

  /// What was seen: the PSI's "full" total in microseconds, and whether the group is at its own memory.high.
  /// What could not be read is not told: then all stays as it is.
  void see(MonoTime at, std::uint64_t stalled_us, bool at_high);
  /// How many steps it is lifted.
  int steps() const { return steps_; }
  /// The share of time, smoothed, in [0, 1].
  double stalled() const { return stalled_; }
  /// The value for memory.high, in whole pages: `base`, or as much more of what is up to `most`.
  std::int64_t high(std::int64_t base, std::int64_t most) const;

 private:
  std::optional<MonoTime> at_;  // of the last sample
  std::uint64_t total_us_ = 0;
  double stalled_ = 0;
  int steps_ = 0;
  MonoTime lifted_{}, calm_{};  // since when it has had this many steps, and been quiet
};

}  // namespace koord::koordlet::memory_qos
