// The fake clock: order, cancellation, nothing fires by itself.
#include "koord/base/manual_clock.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace koord;
using namespace std::chrono_literals;

TEST_CASE("timers fire in order of time, then of creation, those made by timers included") {
  ManualClock clock;
  std::string fired;
  clock.call_at(clock.mono() + 2s, [&] { fired += 'b'; });
  clock.call_at(clock.mono() + 1s, [&] {
    fired += 'a';
    clock.call_at(clock.mono() + 500ms, [&] { fired += 'x'; });
  });
  clock.call_at(clock.mono() + 2s, [&] { fired += 'c'; });
  const TimerId gone = clock.call_at(clock.mono() + 2s, [&] { fired += '!'; });
  clock.cancel(gone);
  clock.advance(1999ms);
  CHECK(fired == "ax");
  clock.advance(1ms);
  CHECK(fired == "axbc");
  CHECK(clock.pending() == 0);
}

TEST_CASE("a jump of the wall clock moves no timer") {
  ManualClock clock;
  bool fired = false;
  clock.call_at(clock.mono() + 1s, [&] { fired = true; });
  const WallTime before = clock.now();
  clock.jump_wall(-1h);
  CHECK(clock.now() == before - 1h);
  CHECK_FALSE(fired);
  clock.advance(1s);
  CHECK(fired);
}
