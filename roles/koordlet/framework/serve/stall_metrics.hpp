// StallMetrics: what the tiers stand still for beside a CPU, as metrics: direct reclaim, block I/O, OOM
// kills.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/host/stalls.hpp"

namespace koord::koordlet {

/// The event loop's thread. Costs nothing where nobody asked for it.
class StallMetrics {
 public:
  static const metrics::Table kMetrics;
  /// How often the kernel's counters are read.
  static constexpr nanoseconds kPeriod = std::chrono::seconds(5);

  /// `counters` null: not available, for `reason`, or where that is empty, too, nobody asked.
  StallMetrics(std::unique_ptr<host::Stalls> counters, std::string reason, Logger& log,
               metrics::Registry& registry);

  void tick(MonoTime now);

  struct Availability {
    std::string_view name;
    bool works = false;
    std::string reason;
  };
  /// One for each kind; none where nobody asked.
  const std::vector<Availability>& availability() const { return availability_; }

 private:
  void tell(std::string_view name, const std::string& missing, metrics::Registry& registry, Logger& log);

  std::unique_ptr<host::Stalls> counters_;
  std::vector<Availability> availability_;
  std::array<metrics::Histogram, host::Stalls::kTiers> reclaim_, block_io_;
  std::array<metrics::Counter, host::Stalls::kTiers + 1> oom_kills_;  // the last: nobody knows whom
  metrics::Counter lost_;
  host::Stalls::State total_;
  MonoTime due_{};
};

}  // namespace koord::koordlet
