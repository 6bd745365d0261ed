// TickSchedule: see tick_schedule.hpp.
#include "framework/tick/tick_schedule.hpp"

#include <algorithm>

namespace koord::koordlet {

namespace {

constexpr metrics::Metric kLateness{.name = "koordlet_tick_lateness_seconds",
                                    .type = metrics::Type::histogram,
                                    .help = "How long after they were due ticks have begun.",
                                    .bounds = metrics::exponential_bounds(0.001, 4, 8)};
constexpr metrics::Metric kMissed{.name = "koordlet_ticks_missed_total",
                                  .help = "Ticks that were left out because an earlier one came too late."};

}  // namespace

const metrics::Table TickSchedule::kMetrics = {&kLateness, &kMissed};

TickSchedule::TickSchedule(metrics::Registry& registry, nanoseconds interval)
    : interval_(interval), lateness_(registry.histogram(kLateness)), missed_(registry.counter(kMissed)) {}

MonoTime TickSchedule::begin(MonoTime now) {
  const nanoseconds late = std::max(now - due_.value_or(now), nanoseconds(0));
  lateness_.observe(std::chrono::duration<double>(late).count());
  missed_.add(static_cast<double>(late / interval_));
  const MonoTime next = due_.value_or(now) + interval_;
  due_ = next > now ? next : now + interval_;
  return *due_;
}

}  // namespace koord::koordlet
