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
  const auto begin = [&](int ms) {
    schedule.begin(at(ms));
    return schedule.next();
  };
  CHECK(begin(0) == at(1000));
  CHECK(begin(1003) == at(2000));  // the next one is on time again
  CHECK(begin(4500) == at(5500));  // those at 3000 and 4000 are left out
  CHECK(begin(5490) == at(6500));  // early
  const std::string text = registry.exposition();
  CHECK_THAT(text, Catch::Contains("koordlet_ticks_missed_total 2\n"));
  CHECK_THAT(text, Catch::Contains("koordlet_tick_lateness_seconds_count 4\n"));
  CHECK_THAT(text, Catch::Contains("koordlet_tick_lateness_seconds_bucket{le=\"0.001\"} 2\n"));
  CHECK_THAT(text, Catch::Contains("koordlet_tick_lateness_seconds_bucket{le=\"0.004\"} 3\n"));
}

TEST_CASE("A tick comes at once when all is known, and sooner for containers, of two at most one") {
  using std::chrono::milliseconds;
  metrics::Registry registry;
  const auto at = [](int ms) { return MonoTime(milliseconds(ms)); };
  TickSchedule schedule(registry, milliseconds(1000));
  Inventory inventory;
  const auto runs = [&](std::vector<std::string> ids) {
    auto pod = std::make_shared<PodInfo>();
    for (std::string& id : ids) pod->containers.emplace_back().id = std::move(id);
    inventory.pods = {pod};
    return schedule.hear(inventory);
  };
  schedule.begin(at(0));
  CHECK_FALSE(runs({"a"}));  // nobody knows whose CPUs are whose
  inventory.pods_known = true;
  CHECK_FALSE(runs({"a"}));
  inventory.slo_known = true;
  CHECK(runs({"a"}));
  CHECK(schedule.next() <= at(100));
  schedule.begin(at(100));
  CHECK(schedule.next() == at(1100));
  CHECK_FALSE(runs({"a"}));
  CHECK(runs({"b", "a"}));
  CHECK(schedule.next() == at(600));
  CHECK_FALSE(runs({"b", "c"}));  // somebody waits already
  schedule.begin(at(600));
  CHECK(schedule.next() == at(1600));
  CHECK_FALSE(runs({"c"}));  // who has gone waits for nothing
  runs({"d"});
  CHECK(schedule.next() == at(1600));
  schedule.begin(at(1600));
  CHECK(schedule.next() == at(2600));
  runs({"e"});
  CHECK(schedule.next() == at(2600));
  schedule.begin(at(2600));
  runs({"f"});
  CHECK(schedule.next() == at(3100));
  const std::string text = registry.exposition();
  CHECK_THAT(text, Catch::Contains("koordlet_ticks_missed_total 0\n"));
  CHECK_THAT(text, Catch::Contains("koordlet_tick_lateness_seconds_bucket{le=\"0.001\"} 5\n"));
}

}  // namespace
}  // namespace koord::koordlet
