// Room for reviews that wait: how many, how large, and in which turn.
#include "framework/webhook/review_limiter.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "support/run_task.hpp"

namespace koord::manager {
namespace {

TEST_CASE("who is not known has half of the room; it is given back") {
  test::Loop loop;
  ReviewLimiter limiter(loop.clock, {4, 100});
  {
    const auto one = limiter.enter(10, false), two = limiter.enter(10, false);
    CHECK((one && two));
    CHECK_FALSE(limiter.enter(1, false).has_value());
    const auto known = limiter.enter(70, true);
    CHECK(known.has_value());
    CHECK_FALSE(limiter.enter(11, true).has_value());
    CHECK(limiter.rest(std::chrono::milliseconds(2)) == std::chrono::milliseconds(24));
  }
  CHECK_FALSE(limiter.enter(51, false).has_value());
  CHECK(limiter.enter(50, false).has_value());
  CHECK(limiter.enter(100, true).has_value());
  CHECK_FALSE(limiter.enter(101, true).has_value());
  std::vector<ReviewLimiter::Place> all;
  for (int i = 0; i < 4; ++i) all.push_back(*limiter.enter(0, true));
  CHECK_FALSE(limiter.enter(0, true).has_value());
}

TEST_CASE(
    "one turn at a time, who is known first, and as long again is left to others as the loop was held") {
  test::Loop loop;
  ReviewLimiter limiter(loop.clock, {4, 100});
  TaskGroup tasks(loop.executor(), {});
  std::string order;
  const auto take = [&](char name, bool known) -> Task<> {
    auto turn = co_await limiter.turn(known);
    REQUIRE(turn.has_value());
    order += name;
    const Result<> slept = co_await sleep(loop.clock, std::chrono::seconds(1));  // a worker's time
    if (slept) turn->held(std::chrono::milliseconds(300));
  };
  for (const char name : {'a', 'b', 'c'}) tasks.spawn("turn", take(name, false));
  tasks.spawn("turn", take('K', true));
  const auto given_up = [&]() -> Task<> {
    const auto turn = co_await with_timeout(loop.clock, std::chrono::milliseconds(500), limiter.turn(true));
    CHECK_FALSE(turn.has_value());
    order += '-';
  };
  tasks.spawn("turn", given_up());
  loop.settle();
  CHECK(order == "a");
  const auto pass = [&](std::initializer_list<int> steps) {
    for (const int step : steps) loop.advance(std::chrono::milliseconds(step));
  };
  pass({500, 500, 299});
  CHECK(order == "a-");
  pass({1});
  CHECK(order == "a-K");
  pass({1000, 300, 1000, 300});
  CHECK(order == "a-Kbc");
  CHECK(test::run_task(loop, tasks.join()).has_value());
  tasks.spawn("turn", take('d', false));
  CHECK(test::run_task(loop, tasks.join()).has_value());
  CHECK(order == "a-Kbcd");
}

}  // namespace
}  // namespace koord::manager
