// Two rules of politeness as plain arithmetic: the client-side limit, and when to repeat what was refused.
#pragma once

#include <cmath>
#include <optional>

#include "koord/async/backoff.hpp"
#include "koord/kube/transport.hpp"

namespace koord::kube {

/// A token bucket of `burst` tokens, `qps` new ones a second.
class TokenBucket {
 public:
  TokenBucket(double qps, int burst) : qps_(qps), burst_(burst < 1 ? 1 : burst), tokens_(burst_) {}
  /// Takes a token and says how long to wait before using it.
  nanoseconds take(MonoTime now) {
    if (qps_ <= 0) return nanoseconds{0};
    const std::chrono::duration<double> passed = now - last_;
    tokens_ = std::fmin(burst_, tokens_ + passed.count() * qps_);
    last_ = now;
    tokens_ -= 1;
    if (tokens_ >= 0) return nanoseconds{0};
    return nanoseconds{static_cast<std::int64_t>(-tokens_ / qps_ * 1e9)};
  }

 private:
  double qps_;
  double burst_;
  double tokens_;
  MonoTime last_{};
};

/// A refused request was not carried out: 429 always, 503 where the server says when to come back. Anything
/// else may have been, and is the caller's to repeat.
inline std::optional<nanoseconds> repeat_after(const HttpResponse& response, Backoff& backoff) {
  const bool refused = response.status == 429 || (response.status == 503 && response.retry_after);
  if (!refused) return std::nullopt;
  const nanoseconds own = backoff.next();
  if (!response.retry_after) return own;
  return std::min<nanoseconds>(*response.retry_after, std::chrono::minutes{1});
}

}  // namespace koord::kube
