#include "koord/async/task_group.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <vector>

#include "koord/async/event.hpp"
#include "koord/async/timer.hpp"
#include "support/run_task.hpp"

using namespace koord;
using namespace std::chrono_literals;

namespace {

Task<Result<>> sleeper(Clock& clock, nanoseconds time, std::string& trace, char mark) {
  Result<> slept = co_await sleep(clock, time);
  trace += slept ? mark : '!';
  co_return slept;
}

/// Retries after every error, as a reflector does: only operation_aborted can end it.
Task<> stubborn(Clock& clock, int& rounds) {
  for (;;) {
    ++rounds;
    (void)co_await sleep(clock, 1s);
  }
}

Task<> thrower() {
  throw std::runtime_error("boom");
  co_return;
}

Task<Result<>> failing() { co_return Error(Code::invalid, "bad value"); }

Task<> last_write(Clock& clock, std::string& trace) {
  const Result<> slept = co_await sleep(clock, 2s);
  trace += slept ? "written" : "cut";
}

Task<Result<>> with_last_write(Clock& clock, std::string& trace) {
  co_return co_await with_cleanup(sleeper(clock, 1h, trace, 'x'), last_write(clock, trace));
}

/// One whose body ends by itself, and that goes on.
Task<Result<>> goes_on(Clock& clock, std::string& trace) {
  KOORD_CO_CHECK(co_await with_cleanup(sleeper(clock, 1s, trace, 'x'), last_write(clock, trace)));
  co_return co_await sleeper(clock, 1h, trace, 'y');
}

/// A loop around a cleanup must end although the cleanup made the task forget its cancellation.
Task<> elector(Clock& clock, std::string& trace) {
  for (;;) (void)co_await with_last_write(clock, trace);
}

struct Failures {
  std::vector<std::string> seen;
  TaskGroup::OnFailure callback() {
    return [this](std::string_view task, const Error& error) {
      seen.push_back(std::string(task) + ": " + error.message());
    };
  }
};

}  // namespace

TEST_CASE("stop ends tasks politely, and tasks that retry after errors too") {
  test::Loop loop;
  std::string trace;
  int rounds = 0;
  Failures failures;
  TaskGroup group(loop.executor(), failures.callback());
  group.spawn("a", sleeper(loop.clock, 10s, trace, 'a'));
  group.spawn("b", sleeper(loop.clock, 1h, trace, 'b'));
  group.spawn("stubborn", stubborn(loop.clock, rounds));
  loop.advance(10s);
  CHECK(trace == "a");
  CHECK(group.size() == 2);
  const int before = rounds;
  test::run_task(loop, group.stop(loop.clock, 5s));
  CHECK(trace == "a!");
  CHECK(rounds == before + 1);  // it woke, tried once more, and that ended it
  CHECK(group.size() == 0);
  CHECK(failures.seen.empty());
  CHECK(loop.clock.mono() == MonoTime{} + 10s);
  CHECK(loop.clock.pending() == 0);
}

TEST_CASE("errors and exceptions of tasks reach the callback with the task's name") {
  test::Loop loop;
  Failures failures;
  TaskGroup group(loop.executor(), failures.callback());
  group.spawn("thrower", thrower());
  group.spawn("failing", failing());
  loop.settle();
  CHECK(failures.seen == std::vector<std::string>{"thrower: boom", "failing: bad value"});
}

TEST_CASE("failures can go to the log") {
  test::Loop loop;
  CapturedLog captured;
  TaskGroup group(loop.executor(), log_failures(Logger(captured, loop.clock)));
  group.spawn("thrower", thrower());
  group.spawn("failing", failing());
  loop.settle();
  CHECK(captured.count(LogLevel::error) == 2);
  CHECK(captured.contains("msg=\"a task failed\" task=thrower error=boom"));
  CHECK(captured.contains("task=failing error=\"bad value\""));
  CHECK_FALSE(log_failures({}));
}

TEST_CASE("a cleanup runs after a polite stop and is cut when the grace is over") {
  struct Row {
    nanoseconds grace;
    const char* trace;
    nanoseconds ends;
  };
  for (const Row& row : {Row{5s, "!written", 2s}, Row{1s, "!cut", 1s}}) {
    test::Loop loop;
    std::string trace;
    Failures failures;
    TaskGroup group(loop.executor(), failures.callback());
    group.spawn("elector", elector(loop.clock, trace));
    loop.settle();
    test::run_task(loop, group.stop(loop.clock, row.grace));
    CHECK(trace == row.trace);
    CHECK(loop.clock.mono() == MonoTime{} + row.ends);
    CHECK(failures.seen.empty());
  }
}

TEST_CASE(
    "a task that goes on after a cleanup is stopped politely, also where that came while it cleaned up") {
  struct Row {
    nanoseconds runs, ends;
    const char* trace;
  };
  for (const Row& row : {Row{10s, 10s, "xwritten!"}, Row{2s, 3s, "xwritten"}}) {
    test::Loop loop;
    std::string trace;
    Failures failures;
    TaskGroup group(loop.executor(), failures.callback());
    group.spawn("goes on", goes_on(loop.clock, trace));
    loop.advance(1s);  // each timer of its own
    loop.advance(row.runs - 1s);
    test::run_task(loop, group.stop(loop.clock, 20s));
    CHECK(trace == row.trace);
    CHECK(loop.clock.mono() == MonoTime{} + row.ends);
    CHECK(failures.seen.empty());
  }
}

TEST_CASE("a task that was stopped before it began never begins, nor one spawned afterwards") {
  test::Loop loop;
  int rounds = 0;
  TaskGroup group(loop.executor());
  TaskGroup stopper(loop.executor());
  stopper.spawn("stop", group.stop(loop.clock, 1h));
  group.spawn("early", stubborn(loop.clock, rounds));
  REQUIRE(test::run_task(loop, stopper.join()).has_value());
  group.spawn("late", stubborn(loop.clock, rounds));
  loop.settle();
  CHECK(rounds == 0);
  CHECK(group.size() == 0);
  CHECK(loop.clock.mono() == MonoTime{});
}

TEST_CASE("join waits for the tasks") {
  test::Loop loop;
  std::string trace;
  TaskGroup group(loop.executor());
  group.spawn("a", sleeper(loop.clock, 3s, trace, 'a'));
  group.spawn("b", sleeper(loop.clock, 1s, trace, 'b'));
  CHECK(test::run_task(loop, group.join()).has_value());
  CHECK(trace == "ba");
}

namespace {
Task<Result<>> owner(asio::any_io_executor executor, Clock& clock, std::string& trace) {
  TaskGroup inner(executor);
  inner.spawn("inner", with_last_write(clock, trace));
  co_return co_await with_cleanup(inner.join(), inner.stop(clock, 3s));
}
}  // namespace

TEST_CASE("a group inside a task is stopped with it") {
  test::Loop loop;
  std::string trace;
  TaskGroup group(loop.executor());
  group.spawn("owner", owner(loop.executor(), loop.clock, trace));
  loop.settle();
  test::run_task(loop, group.stop(loop.clock, 10s));
  CHECK(trace == "!written");
}
