// TokenBucket: a rate with bursts, as plain arithmetic.
#pragma once

#include <cmath>

#include "koord/base/clock.hpp"

namespace koord {

/// `burst` tokens, `qps` new ones a second; no limit where qps is 0.
class TokenBucket {
 public:
  TokenBucket(double qps, int burst) : qps_(qps), burst_(burst < 1 ? 1 : burst), tokens_(burst_) {}
  /// Takes a token and says how long to wait before using it.
  nanoseconds take(MonoTime now) {
    if (qps_ <= 0) return nanoseconds{0};
    refill(now);
    tokens_ -= 1;
    if (tokens_ >= 0) return nanoseconds{0};
    return nanoseconds{static_cast<std::int64_t>(-tokens_ / qps_ * 1e9)};
  }
  /// Takes a token if there is one.
  bool allow(MonoTime now) {
    if (qps_ <= 0) return true;
    refill(now);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  void refill(MonoTime now) {
    const std::chrono::duration<double> passed = now - last_;
    tokens_ = std::fmin(burst_, tokens_ + passed.count() * qps_);
    last_ = now;
  }

  double qps_;
  double burst_;
  double tokens_;
  MonoTime last_{};
};

}  // namespace koord
