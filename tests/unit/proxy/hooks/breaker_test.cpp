// A hook server that does not answer is left alone, for longer each time, and tried by one call at a time.
#include "hooks/breaker.hpp"

#include <catch2/catch.hpp>

using namespace koord;
using proxy::Breaker;
using std::chrono::seconds;

TEST_CASE("One time-out opens it, one answer closes it", "[breaker]") {
  MonoTime now{};
  Breaker breaker;
  REQUIRE(breaker.may_ask(now));
  REQUIRE(breaker.may_ask(now));  // any number at once
  breaker.timed_out(now);
  CHECK(breaker.open());
  CHECK(breaker.left(now) == Breaker::kFirstPause);
  breaker.timed_out(now + seconds(1) / 2);  // the other, which began before: no longer pause
  CHECK(breaker.left(now) == Breaker::kFirstPause);
  CHECK_FALSE(breaker.may_ask(now));
  now += Breaker::kFirstPause;
  CHECK(breaker.may_ask(now));
  CHECK_FALSE(breaker.may_ask(now));  // one tries, the others do without
  breaker.answered();
  CHECK_FALSE(breaker.open());
  CHECK(breaker.may_ask(now));
  CHECK(breaker.may_ask(now));
}

TEST_CASE("Pauses double, up to a bound", "[breaker]") {
  MonoTime now{};
  Breaker breaker;
  REQUIRE(breaker.may_ask(now));
  breaker.timed_out(now);
  for (const int want : {2, 4, 8, 16, 30, 30}) {
    now += breaker.left(now);
    REQUIRE(breaker.may_ask(now));
    breaker.timed_out(now);
    CHECK(breaker.left(now) == seconds(want));
  }
}

TEST_CASE("A try whose caller has gone lets the next one try", "[breaker]") {
  MonoTime now{};
  Breaker breaker;
  REQUIRE(breaker.may_ask(now));
  breaker.timed_out(now);
  now += Breaker::kFirstPause;
  REQUIRE(breaker.may_ask(now));
  breaker.gave_up();
  CHECK(breaker.open());
  CHECK(breaker.may_ask(now));
}
