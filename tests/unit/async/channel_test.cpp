#include "koord/async/channel.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "koord/async/offload.hpp"
#include "koord/async/task_group.hpp"
#include "support/run_task.hpp"

using namespace koord;
using namespace std::chrono_literals;

namespace {

Task<Result<>> produce(Channel<std::unique_ptr<int>>& channel, int count) {
  for (int i = 0; i < count; ++i) {
    auto value = std::make_unique<int>(i);
    KOORD_CO_CHECK(co_await channel.push(std::move(value)));
  }
  channel.close();
  co_return Result<>();
}

Task<Result<>> consume(Channel<std::unique_ptr<int>>& channel, std::vector<int>& out, std::size_t& deepest) {
  for (;;) {
    deepest = std::max(deepest, channel.size());
    KOORD_CO_TRY(value, co_await channel.pop());
    if (!value) co_return Result<>();
    out.push_back(**value);
  }
}

Task<Result<>> drain_all(Inbox<int>& inbox, std::vector<int>& out, std::size_t wanted) {
  while (out.size() < wanted) {
    KOORD_CO_TRY(batch, co_await inbox.drain());
    out.insert(out.end(), batch.begin(), batch.end());
  }
  co_return Result<>();
}

Task<Result<>> block(WorkerPool& pool, std::mutex& gate, std::atomic<bool>& begun, bool& ran) {
  auto job = [&] {
    begun = true;
    begun.notify_one();
    const std::lock_guard lock(gate);
    ran = true;
  };
  co_return co_await pool.run(job);
}

}  // namespace

TEST_CASE("a channel holds no more than its capacity and loses nothing") {
  test::Loop loop;
  Channel<std::unique_ptr<int>> channel(4);
  std::vector<int> out;
  std::size_t deepest = 0;
  TaskGroup group(loop.executor());
  group.spawn("producer", produce(channel, 100));
  group.spawn("consumer", consume(channel, out, deepest));
  REQUIRE(test::run_task(loop, group.join()).has_value());
  REQUIRE(out.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(out[static_cast<std::size_t>(i)] == i);
  CHECK(deepest <= 4);
  CHECK_FALSE(channel.try_push(std::make_unique<int>(1)));
}

TEST_CASE("a push that waits for room is cancelled by close") {
  test::Loop loop;
  Channel<int> channel(1);
  CHECK(channel.try_push(1));
  TaskGroup group(loop.executor());
  Code seen = Code::internal;
  struct Pushing {
    static Task<> run(Channel<int>& channel, Code& seen) {
      const Result<> pushed = co_await channel.push(2);
      seen = pushed ? Code::internal : pushed.error().code();
    }
  };
  group.spawn("push", Pushing::run(channel, seen));
  loop.settle();
  channel.close();
  loop.settle();
  CHECK(seen == Code::cancelled);
  CHECK(channel.try_pop() == 1);
}

TEST_CASE("an inbox takes from another thread, in order, and refuses beyond its capacity") {
  test::Loop loop;
  Inbox<int> inbox(loop.executor(), 1'000'000);
  std::vector<int> out;
  std::thread producer([&] {
    for (int i = 0; i < 20'000; ++i) (void)inbox.push(i);
  });
  REQUIRE(test::run_task(loop, drain_all(inbox, out, 20'000), true).has_value());
  producer.join();
  REQUIRE(out.size() == 20'000);
  for (int i = 0; i < 20'000; ++i) REQUIRE(out[static_cast<std::size_t>(i)] == i);

  Inbox<int> small(loop.executor(), 2);
  CHECK(small.push(1));
  CHECK(small.push(2));
  CHECK_FALSE(small.push(3));
  loop.settle();
}

TEST_CASE("offload returns values, errors and exceptions of the function") {
  test::Loop loop;
  WorkerPool pool(2);
  const std::thread::id here = std::this_thread::get_id();
  auto fine = [here] { return here != std::this_thread::get_id() ? 7 : 0; };
  auto failing = []() -> Result<int> { return Error(Code::io, "disk"); };
  auto throwing = []() -> int { throw std::runtime_error("boom"); };
  const Result<int> value = test::run_task(loop, offload(pool, fine), true);
  REQUIRE(value.has_value());
  CHECK(*value == 7);
  const Result<int> failed = test::run_task(loop, offload(pool, failing), true);
  REQUIRE(failed.has_error());
  CHECK(failed.error().message() == "disk");
  CHECK_THROWS_WITH(test::run_task(loop, offload(pool, throwing), true), "boom");
}

TEST_CASE("a cancelled job that runs is waited for, a queued one never runs") {
  test::Loop loop;
  WorkerPool pool(1);
  std::mutex gate;
  std::unique_lock closed(gate);
  std::atomic<bool> first_begun = false, second_begun = false;
  bool first = false, second = false;
  TaskGroup group(loop.executor());
  group.spawn("first", block(pool, gate, first_begun, first));
  loop.settle();
  first_begun.wait(false);  // else the pool's one thread might take the second when the first is withdrawn
  group.spawn("second", block(pool, gate, second_begun, second));
  loop.settle();
  TaskGroup stopper(loop.executor());
  stopper.spawn("stop", group.stop(loop.clock, 1s));
  loop.settle();
  loop.settle();
  CHECK(group.size() == 1);
  closed.unlock();
  REQUIRE(test::run_task(loop, stopper.join(), true).has_value());
  CHECK(first);
  CHECK_FALSE(second_begun);
  CHECK_FALSE(second);
  CHECK(group.size() == 0);
}
