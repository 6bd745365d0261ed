// Suspension: one coroutine asleep until somebody calls resume(); the brick of every waiting primitive here.
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <list>
#include <optional>

#include "koord/async/task.hpp"

namespace koord {

/// One waiter, one thread (the event loop's). It must outlive the wait; the usual place is the
/// waiting coroutine's own frame.
class Suspension {
 public:
  Suspension() = default;
  Suspension(const Suspension&) = delete;
  Suspension& operator=(const Suspension&) = delete;

  /// Sleeps until resume(), which may have come before; Error(Code::cancelled) when cancelled first.
  Task<Result<>> wait();
  /// The same, but a cancellation counts only if `stoppable()`, asked when it comes, says so. For what
  /// must not be abandoned half done.
  Task<Result<>> wait(std::function<bool()> stoppable);
  /// Wakes the waiter through its executor, never inline. Once: later calls do nothing until the next wait().
  void resume();

 private:
  using Handler = asio::async_result<asio::use_awaitable_t<>, void()>::handler_type;
  Task<> park();

  std::optional<Handler> handler_;
  std::function<bool()> stoppable_;
  bool ready_ = false;
  bool cancelled_ = false;
};

/// Membership of a suspension in the list of those to wake, for as long as the wait lasts.
class Waiter {
 public:
  using List = std::list<Suspension*>;
  explicit Waiter(List& list) : list_(list), place_(list.insert(list.end(), &suspension)) {}
  ~Waiter() { list_.erase(place_); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  Suspension suspension;

 private:
  List& list_;
  List::iterator place_;
};

}  // namespace koord
