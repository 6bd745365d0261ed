// Satisfaction of best-effort work: how much of the CPU that it asks for it may use. Pure functions.
#pragma once

#include <cstdint>
#include <optional>

namespace koord::koordlet::cpu_evict {

/// All in thousandths of a CPU.
struct BestEffort {
  double usage = 0, request = 0, limit = 0;
};

struct Satisfaction {
  std::int64_t lower = 0, upper = 0;  // percent
  std::int64_t usage_threshold = 90;  // percent of the limit: below it there is no want
};

/// What shall be asked less, in thousandths of a CPU: where both the average and the present say that no more
/// than `lower` percent of what is asked may be used, and that it is used up, as much as brings it to `upper`
/// percent, the smaller of both. 0: nothing.
std::int64_t release(const Satisfaction& settings, const BestEffort& average, const BestEffort& now);

/// Whether a window is filled to a third.
bool is_filled(std::int64_t samples, std::int64_t interval_seconds, std::int64_t window_seconds);

}  // namespace koord::koordlet::cpu_evict
