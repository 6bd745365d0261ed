// RetryPace: the wait after the n-th failure in a row, where a failure long ago does not count.
#pragma once

#include "koord/async/backoff.hpp"

namespace koord::kube {

class RetryPace {
 public:
  RetryPace(nanoseconds first, nanoseconds max, nanoseconds forget, std::uint64_t seed)
      : backoff_({.initial = first, .cap = max, .jitter = 0.5}, seed), forget_(forget) {}

  nanoseconds failed(MonoTime now) {
    if (now - last_ > wait_ + forget_) backoff_.reset();
    last_ = now;
    wait_ = backoff_.next();
    return wait_;
  }
  void reset() { backoff_.reset(); }

 private:
  Backoff backoff_;
  nanoseconds forget_;
  nanoseconds wait_{};
  MonoTime last_{};
};

}  // namespace koord::kube
