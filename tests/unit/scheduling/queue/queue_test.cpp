// Who is tried when: priorities, backoff, events, gates, bindings that fail.
#include <catch2/catch.hpp>

#include "world.hpp"

namespace koord::scheduling::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_CASE("backoff doubles up to its maximum after errors") {
  World world;
  world.engine.put_node(make_node("n"));
  auto pod = make_pod("p");
  world.engine.put_pod(pod);
  REQUIRE(world.one().kind() == Decision::Kind::bind);
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
  CHECK(d.kind() == Decision::Kind::skip);
  CHECK(d.message() == "skip schedule deleting pod: default/p");
  CHECK(world.run().empty());
}

TEST_CASE("an assumed pod takes its room until it is bound, fails or goes") {
  World world;
  world.engine.put_node(make_node("n", "1"));
  auto a = make_pod("a", "1"), b = make_pod("b", "1");
  world.engine.put_pod(a);
  CHECK(world.one().node() == "n");
  CHECK(world.engine.assumed() == 1);
  world.engine.put_pod(b);
  CHECK(world.one().kind() == Decision::Kind::unschedulable);

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
  CHECK(world.one().node() == "m");
  world.engine.put_node(make_node("n", "2"));
  world.engine.put_pod(make_pod("q", "2"));
  CHECK(world.one().message() == "0/2 nodes are available: 2 Insufficient cpu.");
}

TEST_CASE("a pod that changed while it was assumed is what it has become when its binding fails") {
  World world;
  world.engine.put_node(make_node("n", "2"));
  auto pod = make_pod("p", "1");
  world.engine.put_pod(pod);
  CHECK(world.one().node() == "n");
  pod = changed(pod,
                [](auto& p) { p.spec.containers[0].resources.requests["cpu"] = api::Quantity::must("3"); });
  world.engine.put_pod(pod);
  CHECK(world.engine.nodes().used(kCpu, 0) == 1000);
  REQUIRE(world.engine.binding_failed(*pod));
  CHECK(world.engine.nodes().used(kCpu, 0) == 0);
  world.clock.advance(seconds(3));
  CHECK(world.one().message() == "0/1 nodes are available: 1 Insufficient cpu.");
}

std::uint64_t asked(Engine& engine, std::string_view plugin) {
  std::uint64_t times = 0;
  for (const auto& [labels, counted] : engine.take_hints())
    if (labels[0] == plugin)
      for (const std::uint64_t n : counted.counts) times += n;
  return times;
}

TEST_CASE("an event asks each group of unschedulable pods once, and those alone that it may concern") {
  World world;
  world.engine.put_node(make_node("n", "1"));
  const auto tolerant = make_pod("tolerant", "2", "1Mi", [](auto& p) { p.spec.tolerations.emplace_back(); });
  for (int i = 0; i < 100; ++i) world.engine.put_pod(make_pod(fmt::format("alike-{}", i), "2"));
  for (int i = 0; i < 5; ++i)
    world.engine.put_pod(make_pod(fmt::format("other-{}", i), "3", fmt::format("{}Mi", i + 1)));
  world.engine.put_pod(
      make_pod("elsewhere", "1", "1Mi", [](auto& p) { p.spec.node_selector["zone"] = "a"; }));
  world.engine.put_pod(tolerant);
  CHECK(world.run().size() == 107);
  asked(world.engine, "");

  world.engine.put_node(make_node("small", "1"));
  auto hints = world.engine.take_hints();
  std::uint64_t fit = 0, affinity = 0;
  for (const auto& [labels, counted] : hints) {
    CHECK(labels[1] == "NodeAdd");
    for (const std::uint64_t n : counted.counts) (labels[0] == "NodeResourcesFit" ? fit : affinity) += n;
  }
  CHECK(fit == 7);
  CHECK(affinity == 1);

  // Labels concern the one that waits for them.
  world.engine.put_node(make_node("small", "1", "8Gi", [](auto& n) { n.metadata.labels["zone"] = "b"; }));
  CHECK(asked(world.engine, "NodeResourcesFit") == 0);
  CHECK(world.run().empty());

  // Who changes waits with others of its kind from now on; who goes does not wait.
  world.engine.put_pod(changed(tolerant, [](auto& p) { p.metadata.labels["a"] = "b"; }));
  world.engine.put_pod(changed(tolerant, [](auto& p) {
    p.spec.tolerations.clear();
    p.spec.containers[0].resources.requests["memory"] = api::Quantity::must("128Mi");
  }));
  for (int i = 0; i < 99; ++i) world.engine.remove_pod(*make_pod(fmt::format("alike-{}", i)));
  asked(world.engine, "");
  world.engine.put_node(make_node("large", "2"));
  CHECK(asked(world.engine, "NodeResourcesFit") == 6);
  CHECK(names(world.run()) == "alike-99 tolerant");
}

TEST_CASE("a pod keeps its time of arrival while it is gated") {
  World world;
  world.engine.put_node(make_node("n"));
  const auto gated = make_pod("gated", "1", "1Mi", [](auto& p) { p.spec.scheduling_gates = {{"a"}}; });
  world.engine.put_pod(gated);
  world.clock.advance(seconds(1));
  world.engine.put_pod(make_pod("later"));
  world.clock.advance(seconds(1));
  world.engine.put_pod(changed(gated, [](auto& p) { p.spec.scheduling_gates.clear(); }));
  const auto decisions = world.run();
  CHECK(names(decisions) == "gated later");
  CHECK(decisions[0].first_attempt == world.clock.mono());
}

TEST_CASE("what enters which queue is counted as kube-scheduler does") {
  World world;
  const auto entered = [&](std::string_view queue, std::string_view event) {
    const auto it = world.engine.incoming().find({queue, event});
    return it == world.engine.incoming().end() ? 0 : it->second;
  };
  const auto gating = [&] {
    std::uint32_t count = 0;
    for (const auto& [profile, counts] : world.engine.rejections())
      for (std::size_t i = 0; i < profile->plugins.size(); ++i)
        if (profile->plugins[i].name == "SchedulingGates") count += counts[i];
    return count;
  };
  world.engine.put_node(make_node("n", "1"));
  auto gated = make_pod("gated", "1m", "1Mi", [](auto& p) { p.spec.scheduling_gates = {{"a"}, {"b"}}; });
  world.engine.put_pod(gated);
  CHECK(entered("unschedulable", "UnschedulablePodAdd") == 1);
  CHECK(gating() == 1);
  gated = changed(gated, [](auto& p) { p.spec.scheduling_gates.pop_back(); });
  world.engine.put_pod(gated);
  CHECK(gating() == 1);
  gated = changed(gated, [](auto& p) { p.spec.scheduling_gates.clear(); });
  world.engine.put_pod(gated);
  CHECK(entered("unschedulable", "UnschedulablePodAdd") == 1);
  CHECK(entered("active", "UnschedulablePodUpdatePodSchedulingGatesEliminated") == 1);
  CHECK(world.one().kind() == Decision::Kind::bind);
  CHECK(gating() == 0);

  world.engine.put_pod(make_pod("p", "2"));
  CHECK(world.one().kind() == Decision::Kind::unschedulable);
  CHECK(entered("active", "UnschedulablePodAdd") == 1);
  CHECK(entered("unschedulable", "ScheduleAttemptFailure") == 1);
  world.engine.put_node(make_node("m", "2"));
  CHECK(entered("backoff", "NodeAdd") == 1);
  CHECK(world.one().node() == "m");
  CHECK(entered("active", "PopFromBackoffQ") == 1);
}

TEST_CASE("without SchedulerPopFromBackoffQ a backoff lasts, however little else is to do") {
  World world({}, {.queue = {.pop_from_backoff = false}});
  world.engine.put_node(make_node("n", "1"));
  world.engine.put_pod(make_pod("p", "2"));
  CHECK(world.one().kind() == Decision::Kind::unschedulable);
  world.engine.put_node(make_node("m", "2"));
  CHECK(world.run().empty());
  REQUIRE(world.engine.next_wakeup());
  world.clock.advance(*world.engine.next_wakeup() - world.clock.mono());
  CHECK(world.one().node() == "m");
}

TEST_CASE("pods of other schedulers count only once they are bound") {
  World world;
  world.engine.put_node(make_node("n", "1"));
  auto pod = make_pod("p", "1", "1Mi", [](auto& p) { p.spec.scheduler_name = "other"; });
  world.engine.put_pod(pod);
  CHECK(world.run().empty());
  world.engine.put_pod(changed(pod, [](auto& p) { p.spec.node_name = "n"; }));
  world.engine.put_pod(make_pod("q", "1"));
  CHECK(world.one().kind() == Decision::Kind::unschedulable);
}

TEST_CASE("the nominated node is tried first") {
  World world;
  for (const char* name : {"a", "b", "c"}) world.engine.put_node(make_node(name));
  world.engine.put_pod(make_pod("busy", "3", "1Gi", [](auto& p) { p.spec.node_name = "b"; }));
  world.engine.put_pod(make_pod("p", "1", "1Mi", [](auto& p) { p.status.nominated_node_name = "b"; }));
  CHECK(world.one().node() == "b");
  world.engine.put_pod(make_pod("q", "2", "1Mi", [](auto& p) { p.status.nominated_node_name = "b"; }));
  CHECK(world.one().node() != "b");
}

}  // namespace
}  // namespace koord::scheduling::test
