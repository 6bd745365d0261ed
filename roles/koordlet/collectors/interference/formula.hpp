// LostTime: what one pod lost of late. Driver + state pair: it is told what was measured, and says shares.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "framework/tick/interference.hpp"
#include "koord/base/clock.hpp"

namespace koord::koordlet::interference {

/// What was counted counts half after so long.
inline constexpr nanoseconds kHalfLife = std::chrono::seconds(30);
/// Of so much CPU a pod's waits are a share at least: what wakes up once in a while and waits as long as it
/// runs has lost nothing that anybody would see.
inline constexpr double kLeastCpu = 0.05;
/// How far back the median of a pod's cycles per instruction goes, and of how many windows it is at least.
inline constexpr nanoseconds kMemory = std::chrono::minutes(30);
inline constexpr std::size_t kLeastWindows = 5, kMostWindows = 64;
/// So long after the last window of cycles nothing is said of them: or, where windows are further apart,
/// after so many times their distance.
inline constexpr nanoseconds kWindowStays = std::chrono::seconds(150);
inline constexpr double kWindowsMissing = 2.5;
/// Before so much of its time is known nothing is said of it.
inline constexpr nanoseconds kFirst = std::chrono::seconds(5);

/// Seconds, all of which fade alike.
struct Sums {
  double waited = 0, used = 0, ready_wall = 0;        // of tasks; of the time in which waits were counted
  double cpu = 0, memory = 0, io = 0;                 // some task stood still
  double cpu_wall = 0, memory_wall = 0, io_wall = 0;  // the time in which that was told
  double lost_cycles = 0, cycles = 0;

  Sums& operator+=(const Sums& other);
  void fade(double factor);
  InterferenceParts parts() const;
};

/// Allocates nothing once its history is whole.
class LostTime {
 public:
  /// What a tick saw of the pod since the one before. `used`: CPUs, or unknown. Totals in microseconds since
  /// the cgroup was made, or unknown; one that went back begins anew.
  struct Seen {
    double used = kUnknown;
    double cpu_us = kUnknown, memory_us = kUnknown, io_us = kUnknown;
  };
  void tick(const Seen& seen, nanoseconds since);
  /// A period of waits was read, of so much waiting of all its tasks; `whole`: nothing between it and the one
  /// before is missing.
  void waited(double seconds, bool whole);
  /// A window of cycles per instruction.
  void window(double cycles, double instructions, MonoTime at);

  const Sums& sums() const { return sums_; }
  InterferenceParts parts() const { return sums_.parts(); }

 private:
  struct Window {
    MonoTime at;
    double cpi = 0;
  };
  void stalled(double now_us, std::optional<double>& before, double seconds, double& sum, double& wall) const;

  Sums sums_;
  double pending_used_ = 0, pending_wall_ = 0;  // since the last period of waits
  nanoseconds since_window_{}, between_windows_{};
  std::optional<double> cpu_us_, memory_us_, io_us_;
  std::vector<Window> history_;
  std::vector<double> sorted_;
};

}  // namespace koord::koordlet::interference
