// TaskGroup: the one place where exceptions of coroutines are caught, and what cancellation means in ours.
#include "koord/async/task_group.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "koord/async/timer.hpp"

namespace koord {

namespace {

constexpr auto kAll =
    asio::cancellation_type::terminal | asio::cancellation_type::partial | asio::cancellation_type::total;

/// Lets every kind of cancellation in (Asio's default knows only terminal) and passes it down as all of them,
/// so that operations which only know terminal, such as TLS, also hear the polite one.
struct AnyIn {
  asio::cancellation_type operator()(asio::cancellation_type type) const { return type; }
};
struct AllOut {
  asio::cancellation_type operator()(asio::cancellation_type type) const {
    return type == asio::cancellation_type::none ? type : kAll;
  }
};

// A task that is stopped before it began never begins: its cancellation came before the reset below.
Task<Result<>> run(const TaskGroup& group, Task<> task) {
  if (group.stopping()) co_return Result<>();
  co_await asio::this_coro::reset_cancellation_state(AnyIn(), AllOut());
  co_await std::move(task);
  co_return Result<>();
}

Task<Result<>> run(const TaskGroup& group, Task<Result<>> task) {
  if (group.stopping()) co_return Result<>();
  co_await asio::this_coro::reset_cancellation_state(AnyIn(), AllOut());
  co_return co_await std::move(task);
}

Error describe(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const boost::system::system_error& e) {
    const bool aborted = e.code() == asio::error::operation_aborted;
    return Error(aborted ? Code::cancelled : Code::internal, e.what());
  } catch (const std::exception& e) {
    return Error(Code::internal, e.what());
  } catch (...) {
    return Error(Code::internal, "an exception of unknown type");
  }
}

}  // namespace

TaskGroup::OnFailure log_failures(std::optional<Logger> log) {
  if (!log) return {};
  return [log = std::move(*log)](std::string_view task, const Error& error) {
    log.error("a task failed", kv("task", task), kv("error", error));
  };
}

TaskGroup::TaskGroup(asio::any_io_executor executor, OnFailure on_failure)
    : executor_(std::move(executor)), on_failure_(std::move(on_failure)) {}

TaskGroup::~TaskGroup() {
  if (entries_.empty()) return;
  for (const Entry& entry : entries_)
    std::fprintf(stderr, "koord: task %s outlives its group\n", entry.name.c_str());
  std::abort();
}

void TaskGroup::spawn(std::string name, Task<> task) { start(std::move(name), run(*this, std::move(task))); }
void TaskGroup::spawn(std::string name, Task<Result<>> task) {
  start(std::move(name), run(*this, std::move(task)));
}

void TaskGroup::start(std::string name, Task<Result<>> task) {
  if (stopping_) return;
  entries_.emplace_back();
  const Handle entry = std::prev(entries_.end());
  entry->name = std::move(name);
  auto finish = [this, entry](std::exception_ptr thrown, const Result<>& result) {
    finished(entry, thrown, result);
  };
  asio::co_spawn(executor_, std::move(task),
                 asio::bind_cancellation_slot(entry->signal.slot(), std::move(finish)));
}

void TaskGroup::finished(Handle entry, std::exception_ptr thrown, const Result<>& result) {
  // Erased last but out of the list first: the callback may look at size().
  std::list<Entry> done;
  done.splice(done.end(), entries_, entry);
  if (thrown || !result) {
    const Error error = thrown ? describe(thrown) : result.error();
    if (!(stopping_ && error.code() == Code::cancelled)) {
      if (on_failure_) {
        on_failure_(done.front().name, error);
      } else {
        std::fprintf(stderr, "koord: task %s failed: %s\n", done.front().name.c_str(),
                     error.message().c_str());
      }
    }
  }
  if (entries_.empty()) {
    for (Suspension* joiner : joiners_) joiner->resume();
  }
}

void TaskGroup::emit(asio::cancellation_type type) {
  // A task never ends inside emit: what wakes it is posted. So the list does not change under us.
  for (Entry& entry : entries_) entry.signal.emit(type);
}

Task<Result<>> TaskGroup::join() {
  while (!entries_.empty()) {
    Waiter joiner(joiners_);
    KOORD_CO_CHECK(co_await joiner.suspension.wait());
  }
  co_return Result<>();
}

Task<> TaskGroup::stop(Clock& clock, nanoseconds grace) {
  stopping_ = true;
  if (entries_.empty()) co_return;
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  emit(asio::cancellation_type::total);
  const TimerId timer = clock.call_at(clock.mono() + grace, [this] { emit(kAll); });
  while (!entries_.empty()) {
    Waiter joiner(joiners_);
    const std::function<bool()> never = [] { return false; };
    (void)co_await joiner.suspension.wait(never);
  }
  clock.cancel(timer);
  co_await asio::this_coro::throw_if_cancelled(throws);
}

namespace {

/// Lets only the end of the grace in, as begin_cleanup() does, and notes that the polite one has come.
struct NotedIn {
  std::shared_ptr<bool> polite;
  asio::cancellation_type operator()(asio::cancellation_type type) const {
    const bool end = (type & asio::cancellation_type::terminal) != asio::cancellation_type::none;
    *polite = *polite || type != asio::cancellation_type::none;
    return end ? asio::cancellation_type::terminal : asio::cancellation_type::none;
  }
};

}  // namespace

Task<Result<>> with_cleanup(Task<Result<>> body, Task<> cleanup) {
  Result<> result;
  std::exception_ptr thrown;
  try {
    result = co_await std::move(body);
  } catch (...) {
    thrown = std::current_exception();
  }
  const auto state = co_await asio::this_coro::cancellation_state;
  const auto cancelled = std::make_shared<bool>(state.cancelled() != asio::cancellation_type::none);
  co_await asio::this_coro::reset_cancellation_state(NotedIn{cancelled}, AllOut());
  co_await std::move(cleanup);
  if (thrown) std::rethrow_exception(thrown);
  // The state has forgotten it, so the callers learn it this way.
  if (*cancelled) throw boost::system::system_error(asio::error::operation_aborted);
  // They go on, and have to hear what comes.
  co_await asio::this_coro::reset_cancellation_state(AnyIn(), AllOut());
  co_return result;
}

}  // namespace koord
