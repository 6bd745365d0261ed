// Task: a lazy coroutine of ours, and what it may do when it is asked to stop.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include "koord/base/result.hpp"

namespace koord {

namespace asio = boost::asio;

/// Starts when it is awaited or handed to a TaskGroup; owns its arguments only if they were passed by value.
/// Cancellation: what waits below returns Error(Code::cancelled), and every later co_await throws
/// boost::system::system_error(operation_aborted), so that a loop that retries after errors ends too.
template <class T = void>
using Task = asio::awaitable<T>;

/// `co_await begin_cleanup();` forgets the polite cancellation, so that a task which saw
/// Error(Code::cancelled) may await its last writes. Only the end of the grace stops it then; nothing
/// throws before, so the task must return by itself. with_cleanup() is the safer form.
inline auto begin_cleanup() {
  return asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
}

/// Runs `body`, then `cleanup` as after begin_cleanup(), also when body failed or was cancelled. The result
/// is body's; after a cancellation, one that came while it cleaned up included, operation_aborted is thrown
/// when cleanup is done, so loops around it end. Who goes on after it hears the next polite cancellation.
Task<Result<>> with_cleanup(Task<Result<>> body, Task<> cleanup);

}  // namespace koord
