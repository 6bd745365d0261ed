// Clock: the only source of time and timers; passed in, never global.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace koord {

using std::chrono::nanoseconds;
using WallTime = std::chrono::sys_time<nanoseconds>;

/// Time that never goes back and does not follow the wall clock.
struct MonoTag {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = nanoseconds;
  using time_point = std::chrono::time_point<MonoTag>;
  static constexpr bool is_steady = true;
};
using MonoTime = std::chrono::time_point<MonoTag, nanoseconds>;

using TimerId = std::uint64_t;  // 0 is never a timer

/// Thread-safety: now() and mono() from any thread; the timers from the clock's own thread only
/// (the event loop, or whoever advances a ManualClock).
class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime now() const = 0;
  virtual MonoTime mono() const = 0;
  /// Calls `fn` once when mono() has reached `at`; at once-soon, never inline, if it has already.
  virtual TimerId call_at(MonoTime at, std::function<void()> fn) = 0;
  /// The function of a cancelled timer is destroyed and never called; unknown ids are ignored.
  virtual void cancel(TimerId id) = 0;
};

}  // namespace koord
