#include "koord/async/timer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <string>

#include "koord/async/event.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "support/run_task.hpp"

using namespace koord;
using namespace std::chrono_literals;

namespace {

Task<Result<int>> answer_after(Clock& clock, nanoseconds time) {
  KOORD_CO_CHECK(co_await sleep(clock, time));
  co_return 42;
}

Task<Result<int>> never(Event& event) {
  KOORD_CO_CHECK(co_await event.wait());
  co_return 1;
}

Task<Result<int>> throwing() {
  throw std::runtime_error("boom");
  co_return 1;
}

Task<Result<>> outer(Clock& clock, Event& event, Code& seen) {
  const Result<int> got = co_await with_timeout(clock, 1h, never(event));
  seen = got ? Code::internal : got.error().code();
  co_return Result<>();
}

}  // namespace

TEST_CASE("a clock whose timers are cancelled lets the event loop end") {
  asio::io_context context;
  SystemClock clock(context.get_executor());
  const TimerId first = clock.call_at(clock.mono() + 1h, [] {});
  clock.cancel(clock.call_at(clock.mono() + 1min, [] {}));
  clock.cancel(first);
  context.run_for(10s);
  CHECK(context.stopped());
  context.restart();
  bool called = false;
  clock.call_at(clock.mono(), [&called] { called = true; });
  context.run_for(10s);
  CHECK(called);
}

TEST_CASE("ten virtual minutes take no time") {
  test::Loop loop;
  CHECK(test::run_task(loop, sleep(loop.clock, 10min)).has_value());
  CHECK(loop.clock.mono() == MonoTime{} + 10min);
  CHECK(test::run_task(loop, sleep_until(loop.clock, MonoTime{} + 1min)).has_value());  // long past
  CHECK(loop.clock.mono() == MonoTime{} + 10min);
}

TEST_CASE("with_timeout gives the value, the timeout, the exception or the cancellation") {
  test::Loop loop;
  Event event;
  const Result<int> in_time =
      test::run_task(loop, with_timeout(loop.clock, 2s, answer_after(loop.clock, 1s)));
  REQUIRE(in_time.has_value());
  CHECK(*in_time == 42);
  const Result<int> late = test::run_task(loop, with_timeout(loop.clock, 1s, never(event)));
  REQUIRE(late.has_error());
  CHECK(late.error().code() == Code::timeout);
  CHECK(late.error().message() == "no answer within 1000 ms");
  CHECK_THROWS_WITH(test::run_task(loop, with_timeout(loop.clock, 1s, throwing())), "boom");
  CHECK(loop.clock.pending() == 0);

  Code seen = Code::internal;
  TaskGroup group(loop.executor());
  group.spawn("outer", outer(loop.clock, event, seen));
  loop.settle();
  test::run_task(loop, group.stop(loop.clock, 1s));
  CHECK(seen == Code::cancelled);
  CHECK(loop.clock.pending() == 0);
}

TEST_CASE("an event is waited for as long as was said") {
  test::Loop loop;
  Event event;
  const MonoTime begun = loop.clock.mono();
  CHECK(test::run_task(loop, event.wait_for(loop.clock, 3s)).has_value());
  CHECK_FALSE(event.is_set());
  CHECK(loop.clock.mono() == begun + 3s);

  TaskGroup group(loop.executor());
  Result<> waited;
  bool over = false;
  struct Waiting {
    static Task<Result<>> run(Clock& clock, Event& event, Result<>& waited, bool& over) {
      waited = co_await event.wait_for(clock, 1h);
      over = true;
      co_return Result<>();
    }
  };
  group.spawn("waiter", Waiting::run(loop.clock, event, waited, over));
  loop.settle();
  CHECK_FALSE(over);
  event.set();
  loop.settle();
  CHECK(over);
  CHECK(waited.has_value());
  event.reset();
  group.spawn("waiter", Waiting::run(loop.clock, event, waited, over));
  loop.settle();
  test::run_task(loop, group.stop(loop.clock, 1s));
  REQUIRE(waited.has_error());
  CHECK(waited.error().code() == Code::cancelled);
  CHECK(loop.clock.pending() == 0);
}

TEST_CASE("an event wakes all its waiters and stays set") {
  test::Loop loop;
  Event event;
  int woken = 0;
  TaskGroup group(loop.executor());
  struct Waiting {
    static Task<Result<>> run(Event& event, int& woken) {
      KOORD_CO_CHECK(co_await event.wait());
      ++woken;
      co_return Result<>();
    }
  };
  for (int i = 0; i < 3; ++i) group.spawn("waiter", Waiting::run(event, woken));
  loop.settle();
  CHECK(woken == 0);
  event.set();
  loop.settle();
  CHECK(woken == 3);
  group.spawn("late", Waiting::run(event, woken));
  loop.settle();
  CHECK(woken == 4);
  event.reset();
  group.spawn("later", Waiting::run(event, woken));
  loop.settle();
  CHECK(woken == 4);
  test::run_task(loop, group.stop(loop.clock, 1s));
}

TEST_CASE("the system clock fires in order, forgets what was cancelled, and never calls inline") {
  asio::io_context context{1};
  std::string fired;
  {
    SystemClock clock(context.get_executor());
    const MonoTime start = clock.mono();
    clock.call_at(start + 3ms, [&] { fired += 'c'; });
    clock.call_at(start + 1ms, [&] {
      fired += 'a';
      clock.call_at(start, [&] { fired += 'x'; });
    });
    clock.call_at(start + 2ms, [&] { fired += 'b'; });
    const TimerId gone = clock.call_at(start + 1ms, [&] { fired += '!'; });
    clock.cancel(gone);
    clock.cancel(gone);
    clock.cancel(0);
    CHECK(fired.empty());
    CHECK(clock.pending() == 3);
    while (clock.pending() > 0) context.run_one();
    // The id's slot has a new owner by now; the old id must not reach it.
    const TimerId next = clock.call_at(clock.mono() + 1h, [] {});
    clock.cancel(gone);
    CHECK(clock.pending() == 1);
    clock.cancel(next);
    CHECK(clock.pending() == 0);
    clock.call_at(start, [&] { fired += '?'; });  // destroyed with the clock, not called
  }
  context.run();
  CHECK((fired == "axbc" || fired == "abxc" || fired == "abcx"));
}

TEST_CASE("the system clock keeps order among many timers that are cancelled at random") {
  asio::io_context context{1};
  SystemClock clock(context.get_executor());
  const MonoTime start = clock.mono();
  std::vector<int> fired;
  std::vector<TimerId> ids;
  std::uint32_t random = 7;
  std::vector<int> due(2000);
  for (int i = 0; i < 2000; ++i) {
    random = random * 1664525 + 1013904223;
    due[static_cast<std::size_t>(i)] = static_cast<int>(random >> 22);
    const MonoTime at = start - 1h + std::chrono::microseconds{due[static_cast<std::size_t>(i)]};
    ids.push_back(clock.call_at(at, [&fired, i] { fired.push_back(i); }));
  }
  for (std::size_t i = 0; i < ids.size(); i += 3) clock.cancel(ids[i]);
  while (clock.pending() > 0) context.run_one();
  REQUIRE(fired.size() == 2000 - 667);
  for (std::size_t i = 1; i < fired.size(); ++i) {
    const auto a = static_cast<std::size_t>(fired[i - 1]), b = static_cast<std::size_t>(fired[i]);
    REQUIRE((due[a] < due[b] || (due[a] == due[b] && a < b)));
    REQUIRE(b % 3 != 0);
  }
}
