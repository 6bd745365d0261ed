// What becomes of a job whose pod may not go, and of the room that was made for it.
#include <algorithm>
#include <catch2/catch.hpp>

#include "migration/controller_rig.hpp"

namespace koord::descheduler::migration::test {
namespace {

TEST_CASE("an eviction that is refused is asked for seldom, whatever happens to the pod meanwhile") {
  World world;
  world.pod("a");
  world.cluster.refusal = "Cannot evict pod as it would violate the pod's disruption budget.";
  world.begin();
  world.job("move", "a");
  const auto asked = [&] {
    return std::ranges::count_if(world.cluster.writes, [](const std::string& write) {
      return write.find("eviction") != std::string::npos;
    });
  };
  for (int i = 0; i < 200; ++i) {
    world.cluster.change("pods/default/a", fmt::format(R"({{"metadata":{{"labels":{{"count":"{}"}}}}}})", i));
    world.cluster.run(1);
  }
  // In ten seconds: after 0.1, 0.2, 0.4, 0.8, 1.6, 3.2 seconds.
  CHECK(asked() >= 6);
  CHECK(asked() <= 8);
  world.cluster.refusal.clear();
  for (int i = 0; i < 10; ++i) world.cluster.run();
  CHECK(world.phase("move") == "Succeeded");
  CHECK(world.cluster.evictions == 1);
}

TEST_CASE("the room of a job that has failed or is aborted goes where it is nobody's, by whoever leads") {
  const std::string refusal = "Cannot evict pod as it would violate the pod's disruption budget.";
  for (const bool restarted : {false, true}) {
    CAPTURE(restarted);
    World world;
    world.pod("a");
    world.cluster.refusal = refusal;
    world.begin();
    world.job("move", "a");
    world.cluster.run();
    const std::string room = "reservations//" + world.reservation_of();
    REQUIRE(world.cluster.has(room));
    if (restarted) world.process.reset();
    world.cluster.change(std::string(kMove), R"({"status":{"phase":"Aborted"}})");
    if (restarted) world.begin();
    world.cluster.run();
    CHECK_FALSE(world.cluster.has(room));
    CHECK(world.cluster.has("pods/default/a"));
    CHECK_FALSE(world.process->failure);
  }
  SECTION("the pod has gone before its room was there") {
    World world;
    world.pod("a");
    world.cluster.schedules = false;
    world.begin();
    world.job("move", "a");
    world.cluster.run(5);
    world.cluster.erase("pods/default/a");
    world.cluster.schedules = true;
    world.cluster.run();
    CHECK(world.cluster.text_at(std::string(kMove), "status", "reason") == "MissingPod");
    CHECK_FALSE(world.cluster.has("reservations//" + world.reservation_of()));
  }
  SECTION("room that a user has made, and room that somebody has, stays") {
    World world;
    world.pod("a");
    world.cluster.refusal = refusal;
    world.cluster.put("reservations//mine", R"({"metadata":{"name":"mine"},"spec":{"owners":[]}})");
    world.begin();
    world.job("move", "a", R"(,"reservationOptions":{"reservationRef":{"name":"mine"}})");
    world.cluster.run();
    world.cluster.change(std::string(kMove), R"({"status":{"phase":"Aborted"}})");
    world.pod("b", "node-0", "other-set");
    world.job("other", "b");
    world.cluster.run();
    const std::string room = "reservations//" + world.reservation_of("podmigrationjobs//other");
    // Nobody has heard of it yet.
    world.cluster.before_write = [&] {
      world.cluster.change(room,
                           R"({"status":{"currentOwners":[{"namespace":"default","name":"c","uid":"c"}]}})");
    };
    world.cluster.change("podmigrationjobs//other", R"({"status":{"phase":"Failed"}})");
    world.cluster.run();
    CHECK(world.cluster.has("reservations//mine"));
    CHECK(world.cluster.has(room));
  }
}

TEST_CASE("another pod of the workload takes the room, and the one that was to go stays: the job ends") {
  World world;
  world.pod("a");
  world.cluster.refusal = "Cannot evict pod as it would violate the pod's disruption budget.";
  world.begin();
  world.job("move", "a");
  world.cluster.run();
  REQUIRE(world.cluster.text_at(std::string(kMove), "status", "reason") == "FailedEvict");
  world.pod("more", "node-1");
  world.cluster.change(
      "reservations//" + world.reservation_of(),
      R"({"status":{"phase":"Succeeded","currentOwners":[{"namespace":"default","name":"more","uid":"uid-more"}]}})");
  world.cluster.run();
  CHECK(world.says() == "Failed|Eviction|ForbiddenMigratePod|Reservation is already bound by another Pod");
  CHECK(world.cluster.has("pods/default/a"));
  CHECK(world.cluster.evictions == 0);
}

}  // namespace
}  // namespace koord::descheduler::migration::test
