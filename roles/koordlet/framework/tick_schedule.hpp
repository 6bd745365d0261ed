// TickSchedule: when the next tick is due, and how late ticks come: an agent that is starved of CPU measures
// and protects late, and this is where it shows.
#pragma once

#include "koord/base/clock.hpp"
#include "koord/base/metrics.hpp"

namespace koord::koordlet {

class TickSchedule {
 public:
  static const metrics::Table kMetrics;
  /// `first`: when the first tick is due.
  TickSchedule(metrics::Registry& registry, nanoseconds interval, MonoTime first);

  /// A tick begins. The answer is when the next one is due: those that were missed are not made up for.
  MonoTime begin(MonoTime now);

 private:
  nanoseconds interval_;
  MonoTime due_;
  metrics::Histogram lateness_;
  metrics::Counter missed_;
};

}  // namespace koord::koordlet
