// TickSchedule: see tick_schedule.hpp.
#include "framework/tick/tick_schedule.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace koord::koordlet {

namespace {

/// Intervals in which one tick comes early for containers.
constexpr int kEarlyIn = 2;

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

void TickSchedule::begin(MonoTime now) {
  const MonoTime due = due_.value_or(now);
  const bool is_early = now < due && waits_ != Waits::nobody;
  if (is_early && waits_ == Waits::container) early_ = now;
  const nanoseconds late = std::max(now - due, nanoseconds(0));
  lateness_.observe(std::chrono::duration<double>(late).count());
  missed_.add(static_cast<double>(late / interval_));
  const MonoTime next = (is_early ? now : due) + interval_;
  due_ = next > now ? next : now + interval_;
  last_ = now;
  waits_ = Waits::nobody;
}

MonoTime TickSchedule::next() const {
  if (!due_ || waits_ == Waits::nobody) return due_.value_or(MonoTime{});
  if (waits_ == Waits::agent) return last_;
  const MonoTime sooner = last_ + interval_ / 2;
  if (early_ && sooner - *early_ < kEarlyIn * interval_) return *due_;
  return std::min(sooner, *due_);
}

bool TickSchedule::hear(const Inventory& inventory) {
  std::vector<std::size_t> containers;
  for (const auto& pod : inventory.pods)
    for (const ContainerInfo& one : pod->containers)
      containers.push_back(std::hash<std::string_view>{}(one.id));
  std::ranges::sort(containers);
  const bool more = !std::ranges::includes(containers_, containers);
  containers_ = std::move(containers);
  if (!inventory.pods_known || !inventory.slo_known) return false;
  const Waits before = waits_;
  if (!std::exchange(known_, true))
    waits_ = Waits::agent;
  else if (more)
    waits_ = std::max(waits_, Waits::container);
  return waits_ != before;
}

}  // namespace koord::koordlet
