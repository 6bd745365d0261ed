// Waiting for time, and for something else no longer than that.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"

namespace koord {

/// Returns when the clock has reached `at`; Error(Code::cancelled) if cancelled before.
Task<Result<>> sleep_until(Clock& clock, MonoTime at);
Task<Result<>> sleep(Clock& clock, nanoseconds duration);

namespace detail {
/// Emits `signal` when the time is over or when the awaiting coroutine is cancelled; disarms on destruction.
class Deadline {
 public:
  Deadline(Clock& clock, nanoseconds after, asio::cancellation_signal& signal,
           asio::cancellation_slot parent);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  bool passed() const { return timer_ == 0; }
  bool cancelled() const { return cancelled_; }
  Error error() const;

 private:
  Clock& clock_;
  nanoseconds after_;
  asio::cancellation_slot parent_;
  TimerId timer_ = 0;
  bool cancelled_ = false;
};
bool is_abort(std::exception_ptr thrown);
}  // namespace detail

/// Runs a task; when `after` passes first, cancels it, waits until it has unwound, and returns
/// Error(Code::timeout). A value that was ready all the same is returned.
template <class T>
Task<Result<T>> with_timeout(Clock& clock, nanoseconds after, Task<Result<T>> task) {
  asio::cancellation_signal signal;
  const auto executor = co_await asio::this_coro::executor;
  const auto state = co_await asio::this_coro::cancellation_state;
  detail::Deadline deadline(clock, after, signal, state.slot());
  auto token = asio::bind_cancellation_slot(signal.slot(), asio::use_awaitable);
  std::exception_ptr thrown;
  try {
    Result<T> result = co_await asio::co_spawn(executor, std::move(task), token);
    if (result || !(deadline.passed() || deadline.cancelled())) co_return result;
  } catch (...) {
    thrown = std::current_exception();
  }
  if (thrown && !detail::is_abort(thrown)) std::rethrow_exception(thrown);
  co_return deadline.error();
}

}  // namespace koord
