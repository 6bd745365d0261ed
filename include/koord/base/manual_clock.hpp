// ManualClock: time that moves only when told to; for tests and simulations.
#pragma once

#include <atomic>
#include <map>

#include "koord/base/clock.hpp"

namespace koord {

/// Deterministic: timers fire in order of their time, then of their creation. One thread moves it, any may
/// read it.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(WallTime start = WallTime{std::chrono::seconds{1'700'000'000}});

  WallTime now() const override;
  MonoTime mono() const override;
  TimerId call_at(MonoTime at, std::function<void()> fn) override;
  void cancel(TimerId id) override;

  /// Moves time forward, firing every timer that falls due, those made by fired timers included.
  void advance(nanoseconds by);
  /// Moves to the next timer and fires it; false if there is none.
  bool advance_to_next();
  /// The wall clock jumps (NTP, an operator); mono() and timers do not notice.
  void jump_wall(nanoseconds by);
  std::size_t pending() const { return timers_.size(); }

 private:
  using Key = std::pair<MonoTime, TimerId>;
  void move_to(MonoTime at);

  std::atomic<WallTime> wall_;
  std::atomic<MonoTime> mono_{MonoTime{}};
  TimerId next_id_ = 1;
  std::map<Key, std::function<void()>> timers_;
  std::map<TimerId, MonoTime> index_;
};

}  // namespace koord
