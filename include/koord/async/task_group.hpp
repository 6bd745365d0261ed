// TaskGroup: where every coroutine lives; nothing is detached.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "koord/async/suspension.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"

namespace koord {

/// Used on the executor's thread only. Must be empty when destroyed (await stop() first): a task that
/// outlives its group is a defect, and the destructor aborts the program with the tasks' names.
class TaskGroup {
 public:
  /// Told of each task that failed: an error (except cancelled while stopping) or an exception, which
  /// is caught here and nowhere else. See log_failures(). Without one, a line on stderr.
  using OnFailure = std::function<void(std::string_view task, const Error& error)>;

  explicit TaskGroup(asio::any_io_executor executor, OnFailure on_failure = {});
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  /// Starts a task soon, never inline. After stop() began, it is dropped unstarted.
  /// The name is for the log; it need not be unique.
  void spawn(std::string name, Task<> task);
  void spawn(std::string name, Task<Result<>> task);

  /// Asks every task to stop (see Task), waits up to `grace` of the clock, then terminates what is
  /// left and waits for it. Not to be cancelled itself; may be called again; never from a task of the group.
  Task<> stop(Clock& clock, nanoseconds grace);

  /// Waits until no task is left, without asking any to stop; Error(Code::cancelled) if cancelled.
  Task<Result<>> join();

  std::size_t size() const { return entries_.size(); }
  bool stopping() const { return stopping_; }
  const asio::any_io_executor& executor() const { return executor_; }

 private:
  struct Entry {
    std::string name;
    asio::cancellation_signal signal;
  };
  using Handle = std::list<Entry>::iterator;
  void start(std::string name, Task<Result<>> task);
  void finished(Handle entry, std::exception_ptr thrown, const Result<>& result);
  void emit(asio::cancellation_type type);

  asio::any_io_executor executor_;
  OnFailure on_failure_;
  std::list<Entry> entries_;
  Waiter::List joiners_;
  bool stopping_ = false;
};

/// For a TaskGroup: an error line for each task that failed. Nothing without a logger.
TaskGroup::OnFailure log_failures(std::optional<Logger> log);

}  // namespace koord
