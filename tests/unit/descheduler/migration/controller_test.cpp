// The controller of migrations on an API server that the test plays: whole runs, and what may go wrong
// between any two writes.
#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>

#include "koord/api/koordinator/descheduling.hpp"
#include "migration/controller_rig.hpp"

namespace koord::descheduler::migration::test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a user's job: arbitrated, reserved, evicted, bound, and told") {
  World world;
  world.pod("a");
  world.begin();
  world.job("move", "a");
  world.cluster.run();
  CHECK(world.says() == fmt::format("Succeeded|Complete||Bind Pod \"default/a-next\" in Reservation \"{}\"",
                                    world.reservation_of()));
  CHECK(world.cluster.evictions == 1);
  CHECK(world.cluster.reservations_made == 1);
  CHECK(world.process->events ==
        std::vector<std::string>{"ReservationCreated", "ReservationScheduled", "Evicting",
                                 "Descheduled: Pod evicted from node \"node-0\" by the reason \"NotSet\"",
                                 "EvictComplete", "PodBoundReservation", "BoundPodReady", "Complete"});
  const json::Document job = world.cluster.read(std::string(kMove));
  CHECK(json::text_at(job, "spec", "podRef", "uid") == "uid-a");
  CHECK(json::text_at(job, "status", "nodeName") == "node-1");
  CHECK(json::text_at(job, "metadata", "annotations", "descheduler.koordinator.sh/workload-uid") == "set");
  // The whole pod is reserved for, with what koord does not know of it.
  const json::Document reservation = world.cluster.read("reservations//" + world.reservation_of());
  CHECK(json::text_at((*json::find(reservation, "spec", "template", "spec", "containers"))[0], "name") ==
        "c");
  CHECK(json::find((*json::find(reservation, "spec", "template", "spec", "containers"))[0], "command"));
  CHECK_FALSE(world.process->failure);
}

TEST_CASE("from a job to its reservation, and from there to the eviction, no time passes but the server's") {
  World world;
  world.pod("a");
  world.begin();
  world.job("move", "a");
  world.loop.settle();
  CHECK(world.cluster.reservations_made == 1);
  world.cluster.work();
  world.loop.settle();
  CHECK(world.cluster.evictions == 1);
}

TEST_CASE("a process that ends with any of its writes: the next one goes on, nothing is done twice") {
  for (const std::string mode : {"ReservationFirst", "EvictDirectly"}) {
    int writes = 0;
    {
      World world;
      world.pod("a");
      world.begin();
      world.job("move", "a", ",\"mode\":\"" + mode + "\"");
      world.cluster.run();
      REQUIRE(world.phase("move") == "Succeeded");
      writes = static_cast<int>(world.cluster.writes.size());
      REQUIRE(writes >= 5);
    }
    for (int dies_with = 1; dies_with <= writes; ++dies_with) {
      World world;
      world.cluster.dies_with = dies_with;
      world.pod("a");
      world.begin();
      world.job("move", "a", ",\"mode\":\"" + mode + "\"");
      for (int i = 0; i < 100 && !world.cluster.dead; ++i) world.cluster.run(1);
      CAPTURE(mode, dies_with, world.cluster.writes);
      REQUIRE(world.cluster.dead);
      world.process.reset();
      world.cluster.run(10);  // nobody leads, the others work on
      world.cluster.dead = false;
      world.begin();
      world.cluster.run();
      CHECK(world.phase("move") == "Succeeded");
      CHECK(world.cluster.evictions == 1);
      CHECK(world.cluster.reservations_made == (mode == "ReservationFirst" ? 1 : 0));
      CHECK_FALSE(world.process->failure);
    }
  }
}

TEST_CASE(
    "jobs that nobody has arbitrated are not touched by what is written to them, and paused ones wait") {
  World world;
  world.args->max_migrating_globally = 1;
  world.pod("a");
  world.pod("b", "node-0", "other-set");
  world.begin();
  world.cluster.schedules = false;
  world.job("first", "a");
  world.cluster.run(5);
  CHECK(world.phase("first") == "Running");
  world.job("move", "b");
  for (int i = 0; i < 5; ++i) {
    world.cluster.change(std::string(kMove),
                         fmt::format(R"({{"metadata":{{"labels":{{"touched":"{}"}}}}}})", i));
    world.cluster.run(20);
  }
  CHECK(world.says() == "|||");
  world.cluster.change(std::string(kMove), R"({"spec":{"paused":true}})");
  world.cluster.schedules = true;
  world.cluster.run();
  CHECK(world.phase("first") == "Succeeded");
  CHECK(world.says() == "|||");
  world.cluster.change(std::string(kMove), R"({"spec":{"paused":null}})");
  world.cluster.run();
  CHECK(world.phase("move") == "Succeeded");
}

TEST_CASE(
    "a job that is paused from the start is not arbitrated and takes nobody's place until it is let go on") {
  World world;
  world.args->max_migrating_globally = 1;
  world.pod("a");
  world.pod("b", "node-0", "other-set");
  world.begin();
  world.job("move", "a", R"(,"paused":true)");
  const std::string before = world.cluster.objects.at(std::string(kMove));
  world.cluster.run();
  world.job("other", "b");
  world.cluster.run();
  CHECK(world.phase("other") == "Succeeded");  // the only place is free
  CHECK(world.cluster.objects.at(std::string(kMove)) == before);
  world.process.reset();
  world.begin();
  world.cluster.run();
  CHECK(world.cluster.objects.at(std::string(kMove)) == before);
  CHECK(world.cluster.has("pods/default/a"));
  world.cluster.change(std::string(kMove), R"({"spec":{"paused":null}})");
  world.cluster.run();
  CHECK(world.phase("move") == "Succeeded");
  CHECK_FALSE(world.cluster.has("pods/default/a"));
}

TEST_CASE("a paused job without a ttl waits for ever, one with a ttl no longer than that") {
  World world;
  world.pod("a");
  world.pod("b");
  world.begin();
  world.job("move", "a", R"(,"paused":true)");
  world.job("endless", "b", R"(,"ttl":null,"paused":true)");
  for (int i = 0; i < 12; ++i) world.loop.advance(1min);
  CHECK_FALSE(world.cluster.has(std::string(kMove)));
  for (int i = 0; i < 120; ++i) world.loop.advance(1min);
  REQUIRE(world.cluster.has("podmigrationjobs//endless"));
  world.cluster.change("podmigrationjobs//endless", R"({"spec":{"paused":null}})");
  world.cluster.run();
  CHECK(world.phase("endless") == "Succeeded");
}

TEST_CASE("a job that must not be fails, once, and finished jobs are never written again") {
  World world;
  world.args->namespaces.ensure().exclude = {"default"};
  world.pod("a");
  world.begin();
  world.job("move", "a");
  world.cluster.run();
  CHECK(world.says() ==
        "Failed||ForbiddenMigratePod|Pod \"default/a\" is forbidden to migrate because it does not meet the "
        "requirements");
  CHECK(world.process->events == std::vector<std::string>{"ForbiddenMigratePod"});
  const std::size_t writes = world.cluster.writes.size();
  world.process.reset();
  world.begin();
  world.cluster.change(std::string(kMove), R"({"metadata":{"labels":{"touched":"x"}}})");
  world.cluster.run();
  CHECK(world.cluster.writes.size() == writes);
}

TEST_CASE("a budget refuses for an hour, and the job goes on when it lets the pod go") {
  World world;
  world.pod("a");
  world.cluster.refusal = "Cannot evict pod as it would violate the pod's disruption budget.";
  world.begin();
  world.job("move", "a", R"(,"ttl":"2h","mode":"EvictDirectly")");
  world.cluster.run();
  CHECK(world.says() ==
        "Running|Eviction|FailedEvict|Failed evict Pod \"default/a\" caused by " + world.cluster.refusal);
  const auto count = [&](std::string_view what) {
    return std::ranges::count_if(world.cluster.writes, [&](const std::string& write) {
      return write.find(what) != std::string::npos;
    });
  };
  const auto statuses = count("status"), asked = count("eviction");
  for (int minute = 0; minute < 60; ++minute) world.loop.advance(1min);
  CHECK(count("status") == statuses);
  CHECK(count("eviction") >= asked + 60);
  CHECK(count("eviction") <= asked + 180);
  world.cluster.refusal.clear();
  for (int i = 0; i < 60; ++i) world.cluster.run(20);
  CHECK(world.phase("move") == "Succeeded");
  CHECK(world.cluster.evictions == 1);
}

TEST_CASE(
    "a pod that never ends: asked for again now and then, and the reservation goes with the job's time") {
  World world;
  world.pod("a");
  world.cluster.lets_go = false;
  world.begin();
  world.job("move", "a");
  world.cluster.run();
  CHECK(world.cluster.evictions == 1);
  CHECK(world.cluster.has("reservations//" + world.reservation_of()));
  for (int i = 0; i < 6; ++i) world.loop.advance(1min);
  CHECK(world.says() == "Failed|Eviction|Timeout|Abort job caused by timeout");
  CHECK_FALSE(world.cluster.has("reservations//" + world.reservation_of()));
  CHECK(world.cluster.evictions == 1);
}

TEST_CASE("a reservation that expires or vanishes under the job ends it, and nobody is evicted") {
  for (const bool vanishes : {false, true}) {
    World world;
    world.pod("a");
    world.cluster.schedules = false;
    world.begin();
    world.job("move", "a");
    world.cluster.run(5);
    const std::string reservation = "reservations//" + world.reservation_of();
    REQUIRE(world.cluster.has(reservation));
    if (vanishes)
      world.cluster.erase(reservation);
    else
      world.cluster.change(reservation, R"({"status":{"phase":"Failed","conditions":[{"type":"Ready",)"
                                        R"("status":"False","reason":"Expired"}]}})");
    world.cluster.run(5);
    CHECK(world.phase("move") == "Failed");
    CHECK(world.cluster.text_at(std::string(kMove), "status", "reason") ==
          (vanishes ? "MissingReservation" : "ReservationExpired"));
    CHECK(world.cluster.evictions == 0);
  }
}

TEST_CASE("a job with a Reservation of its user's, and one whose template has the name of somebody's") {
  World world;
  world.pod("a");
  world.pod("b", "node-0", "other-set");
  world.cluster.put("reservations//theirs", R"({"metadata":{"name":"theirs"},"spec":{"owners":[]}})");
  world.cluster.put("reservations//mine", R"({"metadata":{"name":"mine"},"spec":{"owners":[]}})");
  world.cluster.schedules = false;
  world.begin();
  world.job("move", "a", R"(,"reservationOptions":{"reservationRef":{"name":"mine"}})");
  world.job("taken", "b", R"(,"reservationOptions":{"template":{"metadata":{"name":"theirs"}}})");
  world.cluster.run();
  CHECK(world.says() == "Running|ReservationCreated||");
  CHECK(world.cluster.text_at("podmigrationjobs//taken", "status", "message") ==
        "Failed to create Reservation caused by Reservation theirs is somebody else's");
  const json::Document mine = world.cluster.read("reservations//mine");
  CHECK_FALSE(
      json::text_at(mine, "metadata", "labels", "scheduling.koordinator.sh/reservation-order").empty());
  world.cluster.schedules = true;
  world.cluster.run();
  CHECK(world.phase("move") == "Succeeded");
  CHECK(world.cluster.reservations_made == 0);
  world.cluster.erase("podmigrationjobs//taken");
  world.cluster.run(5);
  CHECK(world.cluster.has("reservations//theirs"));
}

TEST_CASE("who does not lead writes nothing, and goes on when it leads again") {
  World world;
  world.pod("a");
  Process& process = world.begin();
  process.leads = false;
  world.job("move", "a");
  world.cluster.run();
  CHECK(world.cluster.writes.empty());
  process.leads = true;
  world.cluster.run(60);
  CHECK(world.phase("move") == "Succeeded");
}

TEST_CASE("two jobs for one pod: one moves it, the other ends without a second eviction") {
  World world;
  world.pod("a");
  world.begin();
  world.job("first", "a");
  world.job("second", "a");
  world.cluster.run(60);
  CHECK(world.cluster.evictions == 1);
  std::vector<std::string> phases = {world.phase("first"), world.phase("second")};
  std::ranges::sort(phases);
  CHECK(phases == std::vector<std::string>{"Failed", "Succeeded"});
  CHECK(world.cluster.reservations_made == 1);
}

TEST_CASE("a job for a pod of another UID ends, and the pod that has the name stays") {
  World world;
  world.pod("a");
  world.begin();
  world.job("move", "a", R"(,"podRef":{"namespace":"default","name":"a","uid":"of-one-before"})");
  world.cluster.run();
  CHECK(world.says() == "Failed||MissingPod|Abort job caused by missing Pod \"default/a\"");
  CHECK(world.cluster.evictions == 0);
}

TEST_CASE("somebody writes the job meanwhile: nothing is lost, and who aborts it is heard") {
  for (const std::string& change : {std::string(R"({"metadata":{"labels":{"by":"user"}}})"),
                                    std::string(R"({"status":{"phase":"Aborted"}})")}) {
    for (std::size_t faster_than = 0; faster_than < 4; ++faster_than) {
      World world;
      world.pod("a");
      world.begin();
      world.job("move", "a", R"(,"mode":"EvictDirectly")");
      // The write is there before the one that is under way, and before the informer tells of it.
      std::function<void()> count;
      std::size_t seen = 0;
      count = [&] {
        if (seen++ == faster_than)
          world.cluster.change(std::string(kMove), change);
        else
          world.cluster.before_write = count;
      };
      world.cluster.before_write = count;
      world.cluster.run(60);
      CAPTURE(change, faster_than, world.cluster.writes);
      const bool aborts = change.find("Aborted") != std::string::npos;
      CHECK(world.phase("move") == (aborts ? "Aborted" : "Succeeded"));
      CHECK(world.cluster.evictions == (aborts ? 0 : 1));
      if (!aborts) CHECK(world.cluster.text_at(std::string(kMove), "metadata", "name") == "move");
    }
  }
}

TEST_CASE("the reservation goes with its job, also one that was not written down and one of before") {
  World world;
  world.pod("a");
  world.pod("b");
  world.cluster.schedules = false;
  world.begin();
  world.job("move", "a");
  world.cluster.run(5);
  const std::string first = "reservations//" + world.reservation_of();
  REQUIRE(world.cluster.has(first));
  world.cluster.erase(std::string(kMove));
  world.cluster.run(5);
  CHECK_FALSE(world.cluster.has(first));
  // Deleted while nobody led.
  world.job("move", "b");
  world.cluster.run(5);
  const std::string second = "reservations//" + world.reservation_of();
  REQUIRE(world.cluster.has(second));
  world.process.reset();
  world.cluster.erase(std::string(kMove));
  world.cluster.put("reservations//mine", R"({"metadata":{"name":"mine"},"spec":{}})");
  world.loop.advance(2min);
  world.begin();
  world.cluster.run(5);
  CHECK_FALSE(world.cluster.has(second));
  CHECK(world.cluster.has("reservations//mine"));
}

TEST_CASE("jobs whose time is long over go, with their reservations") {
  World world;
  world.pod("a");
  world.pod("b");
  world.cluster.replaces = false;
  world.begin();
  world.job("move", "a");
  world.job("endless", "b", R"(,"ttl":null,"mode":"EvictDirectly")");
  world.cluster.run();
  CHECK(world.phase("endless") == "Succeeded");
  for (int i = 0; i < 9; ++i) world.loop.advance(1min);
  CHECK(world.cluster.has(std::string(kMove)));
  for (int i = 0; i < 3; ++i) world.loop.advance(1min);
  CHECK_FALSE(world.cluster.has(std::string(kMove)));
  CHECK(world.cluster.has("podmigrationjobs//endless"));
  for (int i = 0; i < 20; ++i) world.loop.advance(1min);
  CHECK_FALSE(world.cluster.has("podmigrationjobs//endless"));
}

TEST_CASE("a workload's pods are evicted no faster than its limit, by whichever process") {
  World world;
  world.pod("a");
  world.pod("b");
  world.begin();
  world.job("move", "a", R"(,"mode":"EvictDirectly")");
  world.cluster.run();
  CHECK(world.phase("move") == "Succeeded");
  world.process.reset();
  world.begin();
  world.job("second", "b", R"(,"mode":"EvictDirectly")");
  world.cluster.run();
  CHECK(world.phase("second") == "Running");
  CHECK(world.cluster.evictions == 1);
  // Two of ten replicas in five minutes: one each two and a half.
  for (int i = 0; i < 26; ++i) {
    world.loop.advance(6s);
    world.cluster.run(2);
  }
  CHECK(world.phase("second") == "Succeeded");
  CHECK(world.cluster.evictions == 2);
}

constexpr std::string_view kAvailable = R"({"status":{"phase":"Available","nodeName":"node-1","conditions":[)"
                                        R"({"type":"Scheduled","status":"True","reason":"Scheduled"}]}})";

/// Two jobs of one workload, first and second, whose reservations are made and have no node yet.
struct TwoRooms : World {
  TwoRooms() {
    args->max_migrating_per_workload = args->max_unavailable_per_workload = 2;
    args->object_limiters = {{"workload", ObjectLimiter()}};
    pod("a");
    pod("b");
    begin();
    cluster.schedules = false;
    job("first", "a");
    cluster.run(1);
    job("second", "b");
    cluster.run(5);
    REQUIRE(cluster.reservations_made == 2);
  }
  std::string room(const std::string& job) const {
    return "reservations//" + reservation_of("podmigrationjobs//" + job);
  }
};

TEST_CASE("a workload's pods go in the order in which its new ones take the reservations") {
  // What is said of the first job's reservation once the second's has a node; whether the second waits.
  const auto [first, waits] = GENERATE(table<std::string, bool>({
      {R"({})", true},  // nothing yet
      {R"({"status":{"phase":"Pending"}})", true},
      {R"({"status":{"phase":"Pending","conditions":[{"type":"Scheduled","status":"False",)"
       R"("reason":"Unschedulable"}]}})",
       false},
      {R"({"spec":{"owners":[{"object":{"namespace":"default","name":"x"}}]}})", false},
      {R"({"metadata":{"labels":{"scheduling.koordinator.sh/reservation-order":null}}})", false},
  }));
  CAPTURE(first);
  TwoRooms world;
  const std::string other = world.room("first"), own = world.room("second");
  world.process.reset();  // so that all is known at once
  world.cluster.change(other, first);
  world.cluster.change(own, kAvailable);
  world.cluster.lets_go = false;
  world.begin();
  world.cluster.run(5);
  CHECK(world.cluster.evictions == (waits ? 0 : 1));
  if (!waits) return;
  world.cluster.change(other, kAvailable);
  world.cluster.run(5);
  CHECK(world.cluster.evictions == 2);
  world.cluster.lets_go = true;
  world.cluster.run();
  CHECK(world.phase("first") == "Succeeded");
  CHECK(world.phase("second") == "Succeeded");
}

TEST_CASE("a job that is paused keeps its turn, and one that goes gives it up") {
  TwoRooms world;
  world.cluster.change("podmigrationjobs//first", R"({"spec":{"paused":true}})");
  for (const char* job : {"first", "second"}) world.cluster.change(world.room(job), kAvailable);
  world.cluster.run(5);
  CHECK(world.cluster.evictions == 0);
  world.cluster.erase("podmigrationjobs//first");
  world.cluster.run();
  CHECK(world.cluster.evictions == 1);
  CHECK(world.phase("second") == "Succeeded");
}

TEST_CASE("evictions keep to the rate, each job in its turn") {
  World world;
  world.args->evict_qps.text = "\"1\"";
  world.args->evict_burst = 1;
  world.args->object_limiters = {{"workload", ObjectLimiter()}};
  world.args->max_migrating_per_workload = 9;
  world.args->max_unavailable_per_workload = 9;
  for (int i = 0; i < 5; ++i) world.pod("p" + std::to_string(i));
  world.begin();
  for (int i = 0; i < 5; ++i)
    world.job("j" + std::to_string(i), "p" + std::to_string(i), R"(,"mode":"EvictDirectly")");
  world.cluster.run(1);
  CHECK(world.cluster.evictions == 1);
  world.cluster.run(41);  // two seconds
  CHECK(world.cluster.evictions == 3);
  world.cluster.run(50);
  CHECK(world.cluster.evictions == 5);
}

TEST_CASE("complaint 2074: a limit of a workload holds for jobs that are worked at together, too") {
  World world;
  world.args->max_concurrent_reconciles = 8;
  world.args->max_migrating_per_workload = 5;
  world.args->max_unavailable_per_workload = 5;
  world.args->object_limiters["workload"].duration = api::Duration(5min);
  world.args->object_limiters["workload"].max_migrating = 1;
  for (int i = 0; i < 6; ++i) world.pod("p" + std::to_string(i));
  world.begin();
  for (int i = 0; i < 6; ++i)
    world.job("j" + std::to_string(i), "p" + std::to_string(i), R"(,"mode":"EvictDirectly","ttl":"1h0m0s")");
  for (int minute = 0; minute < 30; ++minute) {
    CHECK(world.cluster.evictions <= 1 + minute / 5);
    world.cluster.run(2);
    world.loop.advance(1min);
  }
  CHECK(world.cluster.evictions >= 5);
}

TEST_CASE("complaint 1102: who wants to let a pod go himself is asked to, and nobody else ends it") {
  World world;
  world.pod("a");
  world.cluster.change("pods/default/a",
                       R"({"metadata":{"labels":{"koordinator.sh/evict-policy":"SoftEviction"}}})");
  world.begin();
  world.job("move", "a", R"(,"ttl":"1h0m0s")");
  world.cluster.run();
  const json::Document pod = world.cluster.read("pods/default/a");
  const json::Document asked =
      json::parse(json::text_at(pod, "metadata", "annotations", "scheduling.koordinator.sh/soft-eviction"))
          .value();
  CHECK(json::text_at(asked, "reason") == "NotSet");
  for (int i = 0; i < 30; ++i) world.loop.advance(1min);
  CHECK(world.cluster.evictions == 0);
  CHECK(world.phase("move") == "Running");
  world.cluster.change("pods/default/a", R"({"metadata":{"deletionTimestamp":"2023-11-14T22:43:20Z"}})");
  world.cluster.run();
  CHECK(world.phase("move") == "Succeeded");
  CHECK(world.cluster.evictions == 0);
}

}  // namespace
}  // namespace koord::descheduler::migration::test
