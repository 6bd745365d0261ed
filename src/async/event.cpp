// Event: wakes every waiter by its own suspension.
#include "koord/async/event.hpp"

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

}  // namespace koord
