// The fake clock: timers fire in order of their time when a test advances it.
#include "koord/base/manual_clock.hpp"

namespace koord {

ManualClock::ManualClock(WallTime start) : wall_(start) {}

WallTime ManualClock::now() const { return wall_; }
MonoTime ManualClock::mono() const { return mono_; }

TimerId ManualClock::call_at(MonoTime at, std::function<void()> fn) {
  const TimerId id = next_id_++;
  timers_.emplace(Key{at, id}, std::move(fn));
  index_.emplace(id, at);
  return id;
}

void ManualClock::cancel(TimerId id) {
  const auto it = index_.find(id);
  if (it == index_.end()) return;
  timers_.erase(Key{it->second, id});
  index_.erase(it);
}

void ManualClock::advance(nanoseconds by) {
  const MonoTime end = mono() + by;
  while (!timers_.empty() && timers_.begin()->first.first <= end) advance_to_next();
  move_to(end);
}

bool ManualClock::advance_to_next() {
  if (timers_.empty()) return false;
  auto node = timers_.extract(timers_.begin());
  index_.erase(node.key().second);
  if (node.key().first > mono()) move_to(node.key().first);
  node.mapped()();
  return true;
}

void ManualClock::jump_wall(nanoseconds by) { wall_ = now() + by; }

void ManualClock::move_to(MonoTime at) {
  wall_ = now() + (at - mono());
  mono_ = at;
}

}  // namespace koord
