// ObjectLimits: how often pods that are alike (of a workload, of a namespace) may be evicted.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "koord/base/clock.hpp"

namespace koord::descheduler::migration {

/// A token bucket for each key, kept as the times at which tokens were taken: the rate may change with the
/// replicas of a workload, and who begins anew tells of what was evicted before. What is older than one and
/// a half durations is forgotten. One thread.
class ObjectLimits {
 public:
  explicit ObjectLimits(nanoseconds duration, std::int32_t burst = 1)
      : duration_(duration), burst_(burst < 1 ? 1 : burst) {}

  /// Nothing has been evicted of the key lately: it is not exceeded, whatever the rate.
  bool is_fresh(const std::string& key) const { return !taken_.contains(key); }
  /// When the next one may go, at a rate of `most` in the duration: `now` or earlier, at once. With 0 there
  /// is no limit.
  WallTime next(const std::string& key, std::int64_t most, WallTime now) const;
  /// One has been evicted. Times need not come in order.
  void take(const std::string& key, WallTime at);
  void forget_before(WallTime now);

 private:
  nanoseconds duration_;
  double burst_;
  std::unordered_map<std::string, std::multiset<WallTime>> taken_;
};

}  // namespace koord::descheduler::migration
