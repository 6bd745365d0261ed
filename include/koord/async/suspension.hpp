// Suspension: one coroutine asleep until somebody calls resume(); the brick of every waiting primitive here.
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/use_awaitable.hpp>
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
  /// The same, deaf to cancellation: for what must not be abandoned half done.
  Task<> wait_regardless();
  /// Wakes the waiter through its executor, never inline. Once: later calls do nothing until the next wait().
  void resume();

 private:
  using Handler = asio::async_result<asio::use_awaitable_t<>, void()>::handler_type;
  Task<> park(bool cancellable);

  std::optional<Handler> handler_;
  bool ready_ = false;
  bool cancelled_ = false;
};

}  // namespace koord
