// Hours of random load with koord's scheduler and descheduler: nobody loses his place, no limit is exceeded,
// hot nodes cool, and nothing goes to and fro.
#include "world/world.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <vector>

#include "support/sanitized.hpp"

namespace koord::descheduler::world {
namespace {

using namespace std::chrono_literals;

/// A day of the load.
constexpr nanoseconds kTime = RandomLoad::kDay;

const std::vector<std::string> kNothing;

void add(Figures& sum, const Figures& one) {
  sum.evictions += one.evictions;
  sum.refused += one.refused;
  sum.hot_minutes += one.hot_minutes;
  sum.spread += one.spread;
  sum.highest += one.highest;
}

TEST_CASE(
    "hours of load by chance: who goes has a place, limits hold, hot nodes cool, nothing goes to and fro") {
  Figures idle, all;
  for (const std::uint64_t seed : {5, 3, 6, 7}) {
    CAPTURE(seed);
    World world({.seed = seed});
    world.run(koord::test::is_short() ? kTime / 3 : kTime);
    CHECK(world.wrong() == kNothing);
    CHECK(world.figures().evictions > 0);
    add(all, world.figures());
    if (koord::test::is_short()) return;
    World undisturbed({.seed = seed, .deschedules = false});
    undisturbed.run(kTime);
    CHECK(undisturbed.wrong() == kNothing);
    add(idle, undisturbed.figures());
  }
  CHECK(all.refused > 0);  // budgets had a say
  CHECK(all.hot_minutes < 0.8 * idle.hot_minutes);
  CHECK(all.spread < 0.95 * idle.spread);
  CHECK(all.highest < idle.highest);
}

TEST_CASE("the same with an API server that fails now and then, and with passes that come fast") {
  World world({.seed = 5, .fails_each = 23, .interval = 10s});
  world.run(koord::test::is_short() ? kTime / 4 : kTime / 2);
  CHECK(world.wrong() == kNothing);
  CHECK(world.figures().evictions > 0);
}

TEST_CASE("the same seed gives the same hours") {
  if (koord::test::is_short()) return;
  std::vector<Figures> twice;
  for (int i = 0; i < 2; ++i) {
    World world({.seed = 6});
    world.run(kTime / 3);
    twice.push_back(world.figures());
  }
  CHECK(twice[0].evictions > 0);
  CHECK(twice[0] == twice[1]);
}

/// For packaging/MEASURED.md.
TEST_CASE("the figures", "[.table]") {
  fmt::print(
      "| load | pods | evicted | refused by budgets | hours of nodes above {}% | spread of CPU usage, points "
      "| the "
      "most used node, % |\n|---|---|---|---|---|---|---|\n",
      World::kHigh);
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
    Figures f[2];
    for (const bool deschedules : {false, true}) {
      World world({.seed = seed, .deschedules = deschedules});
      world.run(kTime);
      f[deschedules ? 1 : 0] = world.figures();
      for (const std::string& wrong : world.wrong()) fmt::print("{}\n", wrong);
    }
    fmt::print(
        "| {} | {} | {} | {} | {:.1f} instead of {:.1f} | {:.1f} instead of {:.1f} | {:.1f} instead of "
        "{:.1f} |\n",
        seed, f[1].pods, f[1].evictions, f[1].refused, f[1].hot_minutes / 60, f[0].hot_minutes / 60,
        f[1].spread, f[0].spread, f[1].highest, f[0].highest);
  }
}

}  // namespace
}  // namespace koord::descheduler::world
