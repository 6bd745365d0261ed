// Satisfaction: see satisfaction.hpp.
#include "plugins/cpu_evict/satisfaction.hpp"

#include <algorithm>

namespace koord::koordlet::cpu_evict {

namespace {

constexpr double kOneCpu = 1000;

/// With less than a CPU there is always want.
bool is_used_up(const Satisfaction& settings, const BestEffort& cpu) {
  if (cpu.limit <= 0) return false;
  return cpu.limit < kOneCpu || cpu.usage / cpu.limit >= static_cast<double>(settings.usage_threshold) / 100;
}

std::int64_t excess(const Satisfaction& settings, const BestEffort& cpu) {
  if (cpu.request <= 0) return 0;
  const double rate = cpu.limit / cpu.request;
  if (rate > static_cast<double>(settings.lower) / 100) return 0;
  return static_cast<std::int64_t>(
      std::max(0.0, cpu.request * (static_cast<double>(settings.upper) / 100 - rate)));
}

}  // namespace

std::int64_t release(const Satisfaction& settings, const BestEffort& average, const BestEffort& now) {
  if (!is_used_up(settings, average) || !is_used_up(settings, now)) return 0;
  return std::min(excess(settings, average), excess(settings, now));
}

bool is_filled(std::int64_t samples, std::int64_t interval_seconds, std::int64_t window_seconds) {
  return samples * interval_seconds >= window_seconds / 3;
}

}  // namespace koord::koordlet::cpu_evict
