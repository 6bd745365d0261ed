// Event: wakes every waiter by its own suspension.
#include "koord/async/event.hpp"

#include "koord/async/timer.hpp"

namespace koord {

void Event::set() {
  if (std::exchange(set_, true)) return;
  for (Suspension* waiter : waiters_) waiter->resume();
}

Task<Result<>> Event::wait() {
  if (set_) co_return Result<>();
  Waiter waiter(waiters_);
  co_return co_await waiter.suspension.wait();
}

Task<Result<>> Event::wait_for(Clock& clock, nanoseconds most) {
  Task<Result<>> woken = wait();
  const Result<> waited = co_await with_timeout(clock, most, std::move(woken));
  if (!waited && waited.error().code() != Code::timeout) co_return waited;
  co_return Result<>();
}

}  // namespace koord
