// WorkerPool: threads for blocking or heavy plain functions; they never resume a coroutine.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "koord/async/task.hpp"

namespace koord {

class WorkerPool {
 public:
  /// Threads start with the first job.
  explicit WorkerPool(unsigned threads);
  /// Waits for the jobs that run; what is queued is dropped, so no coroutine may be waiting any more.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Runs a job on a thread of the pool. Cancelled while queued, it never runs: Error(Code::cancelled).
  /// Once it runs it is waited for, cancelled or not, so it may refer to the awaiting frame.
  Task<Result<>> run(std::function<void()> job);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

namespace detail {
template <class T>
struct ResultOf {
  using Type = Result<T>;
};
template <class T>
struct ResultOf<Result<T>> {
  using Type = Result<T>;
};
}  // namespace detail

/// `co_await offload(pool, fn)`: fn's value, or its Error if it returns a Result. An exception is rethrown
/// here.
template <class F, class R = std::invoke_result_t<F&>>
Task<typename detail::ResultOf<R>::Type> offload(WorkerPool& pool, F function)
  requires(!std::is_void_v<R>)
{
  std::optional<R> value;
  std::exception_ptr thrown;
  std::function<void()> job = [&] {
    try {
      value.emplace(function());
    } catch (...) {
      thrown = std::current_exception();
    }
  };
  KOORD_CO_CHECK(co_await pool.run(std::move(job)));
  if (thrown) std::rethrow_exception(thrown);
  co_return std::move(*value);
}

}  // namespace koord
