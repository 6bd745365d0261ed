// Backoff: how long to wait before the next try; pure arithmetic.
#pragma once

#include <cstdint>

#include "koord/base/clock.hpp"

namespace koord {

struct BackoffPolicy {
  nanoseconds initial = std::chrono::milliseconds{200};
  double factor = 2.0;
  nanoseconds cap = std::chrono::seconds{30};
  /// Each wait is drawn from [wait, wait * (1 + jitter)).
  double jitter = 0.0;
};

/// Deterministic for a seed. The waits are initial, initial * factor, ... up to cap, before jitter.
class Backoff {
 public:
  explicit Backoff(BackoffPolicy policy = {}, std::uint64_t seed = 1);
  nanoseconds next();
  void reset();
  std::uint32_t tries() const { return tries_; }

 private:
  BackoffPolicy policy_;
  std::uint64_t random_;
  nanoseconds wait_;
  std::uint32_t tries_ = 0;
};

}  // namespace koord
