// Workloads do not go to and fro: no pod is moved to a node that another of its workload has just left, nor
// away from one to which it has just been moved.
#include <catch2/catch.hpp>

#include "migration/controller_rig.hpp"

namespace koord::descheduler::migration::test {
namespace {

/// Of a plugin's wish.
void chosen(World& world, const std::string& pod, std::string_view spec = "") {
  world.job(pod, pod, spec, R"(,"annotations":{"descheduler.koordinator.sh/profile":"koord-descheduler"})");
}

/// What the room of a job keeps off.
std::vector<std::string> avoided(const World& world, const std::string& job) {
  const json::Document room = world.cluster.read("reservations//" + world.reservation_of(job));
  const json::Value& required = *json::find(room, "spec", "template", "spec", "affinity");
  const json::Value& terms =
      *json::find(*json::find(required, "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution",
                  "nodeSelectorTerms");
  std::vector<std::string> nodes;
  for (const json::Value& field : json::find(terms[0], "matchFields")->elements())
    nodes.emplace_back((*json::find(field, "values"))[0].text());
  return nodes;
}

TEST_CASE("a workload's pods get no room on nodes that others of it leave or have left, for a while") {
  World world;
  world.args->object_limiters = {{"workload", ObjectLimiter()}};
  world.pod("a", "node-5");
  world.pod("b", "node-6");
  world.pod("c", "node-7");
  world.pod("d", "node-8");
  world.pod("stranger", "node-9", "other");
  world.begin();
  world.job("stranger", "stranger");
  chosen(world, "a");
  world.cluster.run();
  REQUIRE(world.phase("a") == "Succeeded");
  world.cluster.schedules = false;
  chosen(world, "b");
  world.cluster.run(5);
  CHECK(avoided(world, "podmigrationjobs//b") == std::vector<std::string>{"node-6", "node-5"});
  // By whichever process, also where the job that has ended is all that is left of it.
  world.process.reset();
  world.begin();
  chosen(world, "c");
  world.cluster.run(5);
  CHECK(avoided(world, "podmigrationjobs//c") == std::vector<std::string>{"node-7", "node-5", "node-6"});
  for (int i = 0; i < 6; ++i) world.loop.advance(1min);
  chosen(world, "d");
  world.cluster.run();  // a watch that has just ended is open again, too
  CHECK(world.phase("b") == "Failed");
  CHECK(avoided(world, "podmigrationjobs//d") == std::vector<std::string>{"node-8"});
}

TEST_CASE("a user's pod may go where others of its workload have left") {
  World world;
  world.args->object_limiters = {{"workload", ObjectLimiter()}};
  world.pod("a", "node-1");
  world.pod("b", "node-6");
  world.begin();
  chosen(world, "a", R"(,"mode":"EvictDirectly")");
  world.cluster.run();
  world.job("b", "b");
  world.cluster.run();
  CHECK(avoided(world, "podmigrationjobs//b") == std::vector<std::string>{"node-6"});
  CHECK(world.phase("b") == "Succeeded");
}

TEST_CASE("room on a node that a pod of the workload has left since is given up, and the pod stays") {
  World world;
  world.args->object_limiters = {{"workload", ObjectLimiter()}};
  world.pod("a", "node-5");
  world.pod("b", "node-1");
  world.begin();
  world.cluster.schedules = false;
  chosen(world, "a");
  world.cluster.run(5);
  const std::string room = "reservations//" + world.reservation_of("podmigrationjobs//a");
  world.cluster.change(room, R"({"status":{"conditions":[{"type":"Scheduled","status":"False"}]}})");
  chosen(world, "b", R"(,"mode":"EvictDirectly")");
  world.cluster.run(5);
  CHECK(world.phase("b") == "Succeeded");
  world.cluster.schedules = true;
  world.cluster.run(5);
  CHECK(
      world.says("podmigrationjobs//a") ==
      "Failed|ReservationScheduled|ForbiddenMigratePod|Reservation is on Node \"node-1\", which a Pod of the "
      "same workload has just left");
  CHECK_FALSE(world.cluster.has(room));
  CHECK(world.cluster.evictions == 1);
}

TEST_CASE("a pod waits while another of its workload comes to its node") {
  World world;
  world.args->object_limiters = {{"workload", ObjectLimiter()}};
  world.pod("a", "node-5");
  world.pod("b", "node-1");
  world.begin();
  world.cluster.refusal = "a budget";
  chosen(world, "a");
  world.cluster.run(5);
  chosen(world, "b", R"(,"mode":"EvictDirectly")");
  world.cluster.run(60);
  CHECK(world.phase("b") == "Running");
  CHECK(world.cluster.has("pods/default/b"));
  world.cluster.refusal.clear();
  world.cluster.run(100);
  for (int i = 0; i < 40 && world.phase("b") == "Running"; ++i) world.cluster.run(20);
  CHECK(world.phase("a") == "Succeeded");
  CHECK(world.phase("b") == "Succeeded");
}

}  // namespace
}  // namespace koord::descheduler::migration::test
