// TickSchedule: when the next tick is due, and how late ticks come: an agent that is starved of CPU measures
// and protects late, and this is where it shows.
#pragma once

#include <optional>

#include "koord/base/clock.hpp"
#include "koord/base/metrics.hpp"

namespace koord::koordlet {

class TickSchedule {
 public:
  static const metrics::Table kMetrics;
  TickSchedule(metrics::Registry& registry, nanoseconds interval);

  /// A tick begins. The answer is when the next one is due: those that were missed are not made up for.
  MonoTime begin(MonoTime now);

 private:
  nanoseconds interval_;
  std::optional<MonoTime> due_;  // nothing: the first tick is due when it begins
  metrics::Histogram lateness_;
  metrics::Counter missed_;
};

}  // namespace koord::koordlet
