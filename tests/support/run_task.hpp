// run_task: one coroutine to its end, on an event loop of its own and a clock that the test moves.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "koord/async/task.hpp"
#include "koord/base/manual_clock.hpp"

namespace koord::test {

/// The event loop and the virtual time of one test.
struct Loop {
  asio::io_context context{1};
  ManualClock clock;

  asio::any_io_executor executor() { return context.get_executor(); }
  /// Runs what is ready now; no time passes, no socket is waited for.
  void settle() {
    context.restart();
    context.poll();
  }
  /// Settles, moves the time, settles again.
  void advance(nanoseconds by) {
    settle();
    clock.advance(by);
    settle();
  }
};

/// Runs `task` to its end and returns its value; rethrows what it throws. Whenever nothing is ready, the
/// clock jumps to its next timer, so hours of waiting take no time. With `sockets`, the loop waits
/// for the kernel instead, and time moves only when the task or the test moves it.
/// A task that can never end is an error of the test.
template <class T>
T run_task(Loop& loop, Task<T> task, bool sockets = false) {
  std::exception_ptr thrown;
  bool done = false;
  std::conditional_t<std::is_void_v<T>, std::optional<int>, std::optional<T>> result;
  if constexpr (std::is_void_v<T>) {
    asio::co_spawn(loop.context, std::move(task), [&](std::exception_ptr e) {
      thrown = e;
      done = true;
    });
  } else {
    asio::co_spawn(loop.context, std::move(task), [&](std::exception_ptr e, T value) {
      thrown = e;
      result = std::move(value);
      done = true;
    });
  }
  while (!done) {
    loop.context.restart();
    if (loop.context.poll() > 0) continue;
    if (sockets) {
      if (loop.context.run_one() == 0) break;
    } else if (!loop.clock.advance_to_next()) {
      break;
    }
  }
  if (!done) throw std::logic_error("the task waits for something that never comes");
  if (thrown) std::rethrow_exception(thrown);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace koord::test
