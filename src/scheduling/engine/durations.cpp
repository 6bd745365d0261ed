// Durations: see durations.hpp.
#include "koord/scheduling/engine/durations.hpp"

#include <algorithm>
#include <chrono>

namespace koord::scheduling {

void Durations::observe(const Labels& labels, nanoseconds took) {
  Counted& counted = counted_[labels];
  if (counted.counts.empty()) counted.counts.resize(bounds_.size() + 1);
  const double seconds = std::chrono::duration<double>(took).count();
  const auto* bucket = std::lower_bound(bounds_.begin(), bounds_.end(), seconds);
  ++counted.counts[static_cast<std::size_t>(bucket - bounds_.begin())];
  counted.sum += seconds;
}

}  // namespace koord::scheduling
