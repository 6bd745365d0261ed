// Durations: how long things took, counted on one thread for a histogram metric that lives on another.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/metrics.hpp"

namespace koord::scheduling {

/// Belongs to one thread, as what take() gave belongs to another.
class Durations {
 public:
  /// The values of up to three labels, the others empty. Texts outlive all that is counted.
  using Labels = std::array<std::string_view, 3>;
  struct Counted {
    std::vector<std::uint64_t> counts;  // one for each bound and one for what is longer, not cumulative
    double sum = 0;                     // seconds
  };
  using Taken = std::map<Labels, Counted>;

  /// `bounds` in seconds, those of the metric.
  explicit Durations(metrics::Bounds bounds) : bounds_(bounds) {}
  void observe(const Labels& labels, nanoseconds took);
  /// What was counted since the last call.
  Taken take() { return std::exchange(counted_, {}); }

 private:
  metrics::Bounds bounds_;
  Taken counted_;
};

/// kube-scheduler's, of an extension point, and of waiting for a permit.
inline constexpr metrics::Bounds kPointBounds = metrics::exponential_bounds(0.0001, 2, 12);
inline constexpr metrics::Bounds kPermitBounds = metrics::exponential_bounds(0.001, 2, 15);
/// kube-scheduler's, of a hint of a plugin and of the handling of an event.
inline constexpr metrics::Bounds kHintBounds = metrics::exponential_bounds(0.00001, 1.5, 20);
inline constexpr metrics::Bounds kEventBounds = metrics::exponential_bounds(0.0001, 2, 12);

}  // namespace koord::scheduling
