// Event: a flag that coroutines can wait for.
#pragma once

#include "koord/async/suspension.hpp"
#include "koord/base/clock.hpp"

namespace koord {

/// One thread or strand. Set stays set until reset(): the loop of a consumer is wait(), reset(), drain.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Wakes all who wait. Free if it is set already.
  void set();
  void reset() { set_ = false; }
  bool is_set() const { return set_; }
  /// Returns at once if set; Error(Code::cancelled) if cancelled before it was.
  Task<Result<>> wait();
  /// The same, and after `most` at the latest; is_set() tells which it was.
  Task<Result<>> wait_for(Clock& clock, nanoseconds most);

 private:
  Waiter::List waiters_;
  bool set_ = false;
};

}  // namespace koord
