// ObjectLimits: see object_limiter.hpp.
#include "migration/object_limiter.hpp"

#include <algorithm>
#include <cmath>

namespace koord::descheduler::migration {

WallTime ObjectLimits::next(const std::string& key, std::int64_t most, WallTime now) const {
  const auto it = taken_.find(key);
  if (it == taken_.end() || most <= 0 || duration_.count() <= 0) return now;
  const double each = static_cast<double>(duration_.count()) / static_cast<double>(most);  // ns a token
  double tokens = burst_;
  WallTime last = *it->second.begin();
  const auto refill = [&](WallTime at) {
    tokens = std::min(burst_, tokens + static_cast<double>((at - last).count()) / each);
    last = at;
  };
  for (const WallTime at : it->second) {
    if (at > now) break;
    refill(at);
    if (tokens >= 1) tokens -= 1;
  }
  refill(std::max(now, last));
  if (tokens >= 1) return now;
  return now + nanoseconds(static_cast<std::int64_t>(std::ceil((1 - tokens) * each)));
}

void ObjectLimits::take(const std::string& key, WallTime at) {
  if (key.empty() || duration_.count() <= 0) return;
  taken_[key].insert(at);
}

void ObjectLimits::forget_before(WallTime now) {
  const WallTime oldest = now - duration_ - duration_ / 2;
  for (auto each = taken_.begin(); each != taken_.end();) {
    std::multiset<WallTime>& times = each->second;
    times.erase(times.begin(), times.upper_bound(oldest));
    each = times.empty() ? taken_.erase(each) : std::next(each);
  }
}

}  // namespace koord::descheduler::migration
