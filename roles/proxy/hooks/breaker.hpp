// Breaker: whether a hook server that did not answer is asked again. A plain state, without sockets.
#pragma once

#include <algorithm>

#include "koord/base/clock.hpp"

namespace koord::proxy {

/// One time-out opens it. Then nobody is kept waiting until a pause is over, when one call alone tries: an
/// answer closes it, another time-out doubles the pause.
class Breaker {
 public:
  static constexpr nanoseconds kFirstPause = std::chrono::seconds(1), kMostPause = std::chrono::seconds(30);

  /// Whether the server is asked now. If so, exactly one of the three below follows.
  bool may_ask(MonoTime now) {
    if (pause_ == nanoseconds::zero()) return true;
    if (trying_ || now < until_) return false;
    trying_ = true;
    return true;
  }
  /// It said something, or that it does not listen, at once.
  void answered() {
    pause_ = nanoseconds::zero();
    trying_ = false;
  }
  /// Calls that began before it opened end late and count once.
  void timed_out(MonoTime now) {
    const bool counts = trying_ || pause_ == nanoseconds::zero();
    trying_ = false;
    if (!counts) return;
    pause_ = pause_ == nanoseconds::zero() ? kFirstPause : std::min(pause_ * 2, kMostPause);
    until_ = now + pause_;
  }
  /// Who asked has gone before either.
  void gave_up() { trying_ = false; }

  bool open() const { return pause_ != nanoseconds::zero(); }
  /// How long nobody asks; zero or less: somebody may, or does.
  nanoseconds left(MonoTime now) const { return open() ? until_ - now : nanoseconds::zero(); }

 private:
  nanoseconds pause_ = nanoseconds::zero();  // zero: closed
  MonoTime until_{};
  bool trying_ = false;
};

}  // namespace koord::proxy
