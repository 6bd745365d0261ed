#include "koord/async/backoff.hpp"

#include <catch2/catch.hpp>
#include <limits>

using namespace koord;
using namespace std::chrono_literals;

TEST_CASE("backoff grows by its factor up to its cap and starts again after reset") {
  Backoff backoff({.initial = 100ms, .factor = 2, .cap = 1s, .jitter = 0});
  for (const nanoseconds wait : {100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}) CHECK(backoff.next() == wait);
  CHECK(backoff.tries() == 6);
  backoff.reset();
  CHECK(backoff.next() == 100ms);
  CHECK(backoff.tries() == 1);
}

TEST_CASE("jitter only lengthens, within its share, and repeats for a seed") {
  const BackoffPolicy policy{.initial = 100ms, .factor = 1, .cap = 1s, .jitter = 0.5};
  Backoff a(policy, 42), b(policy, 42), c(policy, 43);
  bool differs = false;
  for (int i = 0; i < 1000; ++i) {
    const nanoseconds wait = a.next();
    REQUIRE(wait >= 100ms);
    REQUIRE(wait < 150ms);
    REQUIRE(wait == b.next());
    differs |= wait != c.next();
  }
  CHECK(differs);
}

TEST_CASE("backoff does not overflow") {
  Backoff backoff({.initial = nanoseconds::max() / 2, .factor = 10, .cap = nanoseconds::max(), .jitter = 0});
  CHECK(backoff.next() == nanoseconds::max() / 2);
  CHECK(backoff.next() == nanoseconds::max());
  Backoff above({.initial = 5s, .factor = 2, .cap = 1s, .jitter = 0});
  CHECK(above.next() == 1s);
}
