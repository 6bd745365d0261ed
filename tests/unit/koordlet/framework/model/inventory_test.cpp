// The hub, and the time of ticks.
#include "framework/model/inventory.hpp"

#include <catch2/catch.hpp>

#include "framework/tick/tick_schedule.hpp"

namespace koord::koordlet {
namespace {

TEST_CASE("The hub numbers what is published and tells its listeners") {
  InventoryHub hub;
  std::vector<std::uint64_t> told;
  hub.listen([&](const std::shared_ptr<const Inventory>& now) { told.push_back(now->generation); });
  const auto before = hub.current();
  hub.publish({});
  hub.publish({});
  CHECK(told == std::vector<std::uint64_t>{1, 2});
  CHECK(before->generation == 0);
}

TEST_CASE("Ticks that come late are counted by how late, those that never come too") {
  using std::chrono::milliseconds;
  metrics::Registry registry;
  const auto at = [](int ms) { return MonoTime(milliseconds(ms)); };
  TickSchedule schedule(registry, milliseconds(1000));
  CHECK(schedule.begin(at(0)) == at(1000));
  CHECK(schedule.begin(at(1003)) == at(2000));  // the next one is on time again
  CHECK(schedule.begin(at(4500)) == at(5500));  // those at 3000 and 4000 are left out
  CHECK(schedule.begin(at(5490)) == at(6500));  // early
  const std::string text = registry.exposition();
  CHECK_THAT(text, Catch::Contains("koordlet_ticks_missed_total 2\n"));
  CHECK_THAT(text, Catch::Contains("koordlet_tick_lateness_seconds_count 4\n"));
  CHECK_THAT(text, Catch::Contains("koordlet_tick_lateness_seconds_bucket{le=\"0.001\"} 2\n"));
  CHECK_THAT(text, Catch::Contains("koordlet_tick_lateness_seconds_bucket{le=\"0.004\"} 3\n"));
}

}  // namespace
}  // namespace koord::koordlet
