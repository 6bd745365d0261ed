#include "koord/kube/work_queue.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "support/run_task.hpp"

using namespace koord;
using namespace std::chrono_literals;
using Queue = kube::WorkQueue<std::string>;

namespace {

std::string drain(Queue& queue) {
  std::string keys;
  while (auto key = queue.try_next()) {
    keys += *key;
    queue.done(*key);
  }
  return keys;
}

}  // namespace

TEST_CASE("a key is queued once, in order of its first addition") {
  ManualClock clock;
  Queue queue(clock);
  for (const char* key : {"a", "b", "a", "c", "b"}) queue.add(key);
  CHECK(queue.size() == 3);
  CHECK(drain(queue) == "abc");
  CHECK(queue.known() == 0);
}

TEST_CASE("a key that is worked on comes again after done, and never to two workers") {
  ManualClock clock;
  Queue queue(clock);
  queue.add("a");
  CHECK(queue.try_next() == "a");
  queue.add("a");
  queue.add("a");
  CHECK_FALSE(queue.try_next());
  queue.done("a");
  CHECK(queue.try_next() == "a");
  queue.done("a");
  queue.done("a");
  CHECK_FALSE(queue.try_next());
  CHECK(queue.known() == 0);
}

TEST_CASE("delayed keys: the earliest wins, add overtakes") {
  ManualClock clock;
  Queue queue(clock);
  queue.add_after("a", 10s);
  queue.add_after("a", 3s);
  queue.add_after("a", 20s);
  queue.add_after("b", 2s);
  queue.add_after("c", 30s);
  queue.add("c");
  CHECK(drain(queue) == "c");
  clock.advance(2s);
  CHECK(drain(queue) == "b");
  clock.advance(1s);
  CHECK(drain(queue) == "a");
  clock.advance(1h);
  CHECK(drain(queue).empty());
  CHECK(clock.pending() == 0);
  CHECK(queue.known() == 0);
}

TEST_CASE("each key has its own backoff, until it is forgotten") {
  ManualClock clock;
  Queue queue(clock, {.backoff_first = 5ms, .backoff_max = 20ms});
  const nanoseconds waits[] = {5ms, 10ms, 20ms, 20ms};
  for (const nanoseconds wait : waits) {
    queue.retry("a");
    clock.advance(wait - 1ns);
    CHECK_FALSE(queue.try_next());
    clock.advance(1ns);
    REQUIRE(queue.try_next() == "a");
    queue.done("a");
  }
  CHECK(queue.failures("a") == 4);
  queue.retry("b");
  clock.advance(5ms);
  CHECK(drain(queue) == "b");
  queue.forget("a");
  queue.forget("b");
  queue.forget("never seen");
  CHECK(queue.known() == 0);
  queue.retry("a");
  clock.advance(5ms);
  CHECK(drain(queue) == "a");
}

TEST_CASE("a failure that is due while the key is worked on comes after done") {
  ManualClock clock;
  Queue queue(clock);
  queue.add("a");
  REQUIRE(queue.try_next() == "a");
  queue.retry("a");
  clock.advance(1s);
  CHECK_FALSE(queue.try_next());
  queue.done("a");
  CHECK(queue.try_next() == "a");
}

TEST_CASE("close lets the ready be drained and drops the delayed") {
  test::Loop loop;
  Queue queue(loop.clock);
  queue.add("a");
  queue.add_after("b", 1s);
  queue.close();
  queue.add("c");
  CHECK(loop.clock.pending() == 0);
  const auto next = [](Queue& q) -> Task<std::string> {
    auto key = co_await q.next();
    co_return !key ? "error" : *key ? **key : "end";
  };
  CHECK(test::run_task(loop, next(queue)) == "a");
  CHECK(test::run_task(loop, next(queue)) == "end");
}

TEST_CASE("next waits for a key") {
  test::Loop loop;
  Queue queue(loop.clock);
  queue.add_after("late", 10min);
  const auto next = [](Queue& q) -> Task<std::string> {
    auto key = co_await q.next();
    co_return !key ? "error" : *key ? **key : "end";
  };
  CHECK(test::run_task(loop, next(queue)) == "late");
  CHECK(loop.clock.mono() == MonoTime{10min});
}
