// Who is tried when: priorities, backoff, events, gates, bindings that fail.
#include <catch2/catch.hpp>

#include "world.hpp"

namespace koord::scheduler::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_CASE("backoff doubles up to its maximum after errors") {
  World world;
  world.engine.put_node(make_node("n"));
  auto pod = make_pod("p");
  world.engine.put_pod(pod);
  REQUIRE(world.one().kind == Decision::Kind::bind);
  // A failed binding is an error: the pod waits, even though nothing else is to do. Waits end with a window
  // of a second, so one of 1 s lasts from 1 to 2.
  for (int wait : {1, 2, 4, 8, 10, 10}) {
    INFO(wait);
    REQUIRE(world.engine.binding_failed(*pod));
    CHECK(world.run().empty());
    auto at = world.engine.next_wakeup();
    REQUIRE(at);
    CHECK(*at - world.clock.mono() == seconds(wait + 1));
    world.clock.advance(seconds(wait) - milliseconds(1));
    CHECK(world.run().empty());
    world.clock.advance(seconds(1) + milliseconds(1));
    CHECK(world.run().size() == 1);
  }
}

TEST_CASE("unschedulable pods are tried again after five minutes") {
  World world;
  world.engine.put_node(make_node("n", "1"));
  world.engine.put_pod(make_pod("p", "2"));
  world.one();
  CHECK(world.engine.queue_sizes() == QueueSizes{0, 0, 1, 0});
  world.clock.advance(minutes(5));
  CHECK(world.run().empty());
  CHECK(*world.engine.next_wakeup() == world.clock.mono() + nanoseconds(1));
  world.clock.advance(nanoseconds(1));
  CHECK(world.one().attempts == 2);
}

TEST_CASE("pods that are being deleted are only told of") {
  World world;
  world.engine.put_node(make_node("n"));
  world.engine.put_pod(make_pod("p", "1", "1Mi", [](auto& p) { p.metadata.deletion_timestamp.emplace(); }));
  Decision d = world.one();
  CHECK(d.kind == Decision::Kind::skip);
  CHECK(d.message == "skip schedule deleting pod: default/p");
  CHECK(world.run().empty());
}

TEST_CASE("an assumed pod takes its room until it is bound, fails or goes") {
  World world;
  world.engine.put_node(make_node("n", "1"));
  auto a = make_pod("a", "1"), b = make_pod("b", "1");
  world.engine.put_pod(a);
  CHECK(world.one().node == "n");
  CHECK(world.engine.assumed() == 1);
  world.engine.put_pod(b);
  CHECK(world.one().kind == Decision::Kind::unschedulable);

  SECTION("bound: the room stays taken, once") {
    world.engine.put_pod(changed(a, [](auto& p) { p.spec.node_name = "n"; }));
    CHECK(world.engine.assumed() == 0);
    CHECK(world.engine.nodes().used(kCpu, 0) == 1000);
    CHECK_FALSE(world.engine.binding_failed(*a));
    CHECK(world.run().empty());
  }
  SECTION("bound elsewhere: the watch is right") {
    world.engine.put_node(make_node("m", "1"));
    world.run();
    world.engine.put_pod(changed(a, [](auto& p) { p.spec.node_name = "m"; }));
    CHECK(world.engine.nodes().used(kCpu, 0) == 0);
  }
  SECTION("failed: the other pod gets the room") {
    CHECK(world.engine.binding_failed(*a));
    CHECK(names(world.run()) == "b");
  }
  SECTION("deleted") {
    world.engine.remove_pod(*a);
    CHECK_FALSE(world.engine.binding_failed(*a));
    CHECK(names(world.run()) == "b");
    CHECK(world.engine.assumed() == 1);
  }
  SECTION("being deleted") {
    world.engine.put_pod(changed(a, [](auto& p) { p.metadata.deletion_timestamp.emplace(); }));
    CHECK(names(world.run()) == "b");
  }
  SECTION("finished") {
    world.engine.put_pod(changed(a, [](auto& p) {
      p.spec.node_name = "n";
      p.status.phase = "Succeeded";
    }));
    CHECK(names(world.run()) == "b");
  }
  SECTION("made again under its name: another pod") {
    auto again = changed(a, [](auto& p) { p.metadata.uid = "other"; });
    world.engine.put_pod(again);
    CHECK_FALSE(world.engine.binding_failed(*a));
    CHECK(world.run().size() == 2);
  }
}

TEST_CASE("a node that goes takes its room with it, and comes back with the pods on it") {
  World world;
  world.engine.put_node(make_node("n", "2"));
  world.engine.put_node(make_node("m", "2"));
  world.engine.put_pod(make_pod("there", "2", "1Mi", [](auto& p) { p.spec.node_name = "n"; }));
  world.engine.remove_node("n");
  world.engine.put_pod(make_pod("p", "1"));
  CHECK(world.one().node == "m");
  world.engine.put_node(make_node("n", "2"));
  world.engine.put_pod(make_pod("q", "2"));
  CHECK(world.one().message == "0/2 nodes are available: 2 Insufficient cpu.");
}

TEST_CASE("pods of other schedulers count only once they are bound") {
  World world;
  world.engine.put_node(make_node("n", "1"));
  auto pod = make_pod("p", "1", "1Mi", [](auto& p) { p.spec.scheduler_name = "other"; });
  world.engine.put_pod(pod);
  CHECK(world.run().empty());
  world.engine.put_pod(changed(pod, [](auto& p) { p.spec.node_name = "n"; }));
  world.engine.put_pod(make_pod("q", "1"));
  CHECK(world.one().kind == Decision::Kind::unschedulable);
}

TEST_CASE("the nominated node is tried first") {
  World world;
  for (const char* name : {"a", "b", "c"}) world.engine.put_node(make_node(name));
  world.engine.put_pod(make_pod("busy", "3", "1Gi", [](auto& p) { p.spec.node_name = "b"; }));
  world.engine.put_pod(make_pod("p", "1", "1Mi", [](auto& p) { p.status.nominated_node_name = "b"; }));
  CHECK(world.one().node == "b");
  world.engine.put_pod(make_pod("q", "2", "1Mi", [](auto& p) { p.status.nominated_node_name = "b"; }));
  CHECK(world.one().node != "b");
}

}  // namespace
}  // namespace koord::scheduler::test
