// What a class costs: rows looked at and memory kept, counted rather than timed.
#include <catch2/catch.hpp>

#include "koord/scheduling/classes/cache_memory.hpp"
#include "support/sanitized.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

/// A world of nodes alike, and pods of as many classes as wanted.
struct Classes : World {
  explicit Classes(int nodes, ClassMemory memory = {}) : World({}, {.queue = {}, .class_memory = memory}) {
    for (int i = 0; i < nodes; ++i) engine.put_node(make_node(fmt::format("n{}", i), "64", "256Gi"));
  }
  void put(int cls, const PodEdit& edit = {}) {
    engine.put_pod(make_pod(fmt::format("p{}", ++pods_), fmt::format("{}m", 100 + cls), "128Mi", edit));
  }
  /// Rows that are looked at for what waits.
  std::uint64_t cost() {
    const std::uint64_t before = engine.classes().rows_looked_at();
    run();
    return engine.classes().rows_looked_at() - before;
  }

 private:
  int pods_ = 0;
};

/// Required node affinity to the node of this name, as a DaemonSet's pods have it.
PodEdit only(std::string name) {
  return [name = std::move(name)](api::Pod& pod) {
    pod.spec.affinity.ensure().node_affinity.ensure().required.ensure().node_selector_terms = {
        {{}, {{"metadata.name", "In", {Symbol(name)}}}}};
  };
}

TEST_CASE("300 classes look at what changed, not at all nodes each") {
  const int kClasses = koord::test::is_short() ? 100 : 300, kNodes = koord::test::is_short() ? 2500 : 5000;
  Classes world(kNodes);
  const auto round = [&] {
    for (int i = 0; i < kClasses; ++i) world.put(i);
  };
  round();
  round();
  world.cost();
  round();
  // Since a class was asked last every class has placed a pod.
  CHECK(world.cost() <= static_cast<std::uint64_t>(kClasses) * static_cast<std::uint64_t>(kClasses + 1));
}

TEST_CASE("what follows from the node alone is looked at once for all classes") {
  constexpr int kNodes = 100;
  Classes world(kNodes);
  for (int i = 0; i < 10; ++i) world.put(i);
  world.cost();
  world.put(11);
  CHECK(world.cost() == kNodes);
  // A node's change is one row for the class, and one for each of the facets: cordons, taints twice, images.
  world.put(11);
  world.cost();
  world.engine.put_node(make_node("n7", "64", "256Gi", [](api::Node& n) { n.spec.unschedulable = true; }));
  world.put(11);
  CHECK(world.cost() == 1 + 1 + 4);
}

TEST_CASE("a DaemonSet's pod touches one row") {
  Classes world(1000);
  for (const int node : {7, 999, 0, 7}) {
    world.put(1, only(fmt::format("n{}", node)));
    CHECK(world.cost() == 1);
    CHECK(world.engine.nodes().used(kPods, world.engine.nodes().find(fmt::format("n{}", node))) >= 1);
  }
  world.put(1, only("gone"));
  const auto out = world.run();
  REQUIRE(out.size() == 1);
  CHECK(out[0].message() ==
        "0/1000 nodes are available: 1000 node(s) didn't satisfy plugin(s) [NodeAffinity].");
}

TEST_CASE("a pod that names two nodes goes to the better one, and waits for either") {
  Classes world(0);
  world.engine.put_node(make_node("small", "1"));
  world.engine.put_node(make_node("large", "8"));
  world.engine.put_node(make_node("other", "64"));
  const auto either = [](api::Pod& pod) {
    auto& terms = pod.spec.affinity.ensure().node_affinity.ensure().required.ensure().node_selector_terms;
    for (const char* name : {"large", "small", "absent"})
      terms.push_back({{}, {{"metadata.name", "In", {name}}}});
  };
  world.engine.put_pod(make_pod("a", "500m", "1Gi", either));
  CHECK(world.one().node() == "large");
  world.engine.put_pod(make_pod("b", "32", "1Gi", either));
  CHECK(world.one().message() ==
        "0/3 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity], 2 Insufficient cpu.");
}

TEST_CASE("of many classes without pods those used last are remembered") {
  constexpr int kNodes = 50;
  Classes world(kNodes);
  // No node has the room, so that nothing changes but the classes.
  const auto attempt = [&](int cls) {
    auto pod = make_pod(fmt::format("q{}", cls), fmt::format("{}", 1000 + cls));
    world.engine.put_pod(pod);
    const std::uint64_t rows = world.cost();
    world.engine.remove_pod(*pod);
    return rows;
  };
  attempt(0);
  attempt(0);
  const int kAttempts = koord::test::is_short() ? 4500 : 10'000;  // more than are remembered
  for (int i = 1; i < kAttempts; ++i) {
    attempt(i);
    if (i % 4000 == 0) CHECK(attempt(0) == 0);
  }
  CHECK(world.engine.classes().size() <= 4096);
}

TEST_CASE("beyond the bound as many classes stay as fit, however they take turns") {
  constexpr int kNodes = 400, kClasses = 20;
  Classes world(kNodes, {.per_node = 64, .floor = 0});
  std::uint64_t cost = 0;
  for (int round = 0; round < 10; ++round) {
    cost = 0;
    for (int i = 0; i < kClasses; ++i) {
      world.put(i);
      cost += world.cost();
      const CacheMemory& memory = world.engine.classes().memory();
      CHECK(memory.limit() == std::size_t{64} * kNodes);
      CHECK(memory.bytes() <= memory.limit());
    }
  }
  CHECK(cost > std::uint64_t{kNodes} * kClasses / 2);
  CHECK(cost < std::uint64_t{kNodes} * kClasses * 9 / 10);
}

TEST_CASE("nodes that go take memory with them") {
  constexpr int kNodes = 400;
  Classes world(kNodes, {.per_node = 64, .floor = 0});
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 5; ++i) {
      world.put(i);
      world.run();
    }
  for (int i = 10; i < kNodes; ++i) world.engine.remove_node(fmt::format("n{}", i));
  world.put(0);
  world.run();
  CHECK(world.engine.classes().memory().bytes() <= std::size_t{64} * 10);
}

// The memory itself

struct Thing final : CacheMemory::Entry {
  void drop() override { ++dropped; }
  int dropped = 0;
};

TEST_CASE("something takes another's place only if it came back sooner than that has been idle") {
  CacheMemory memory;
  memory.limit(2);
  Thing a, b, c;
  const auto ask = [&](Thing& thing) {
    memory.next_turn();
    memory.touch(thing);
    return thing.kept() || memory.admit(thing, 1);
  };
  CHECK_FALSE(ask(a));  // asked for once: may be never again
  CHECK(ask(a));
  CHECK_FALSE(ask(b));
  CHECK(ask(b));
  for (int i = 0; i < 10; ++i) {
    CHECK(ask(a));
    CHECK(ask(b));
    CHECK_FALSE(ask(c));
  }
  CHECK(ask(b));
  CHECK(ask(c));  // came back after two turns; a has been idle for longer
  CHECK(a.dropped == 1);
  CHECK_FALSE(a.kept());
  CHECK(memory.bytes() == 2);
  memory.limit(1);
  CHECK(b.dropped == 1);
  CHECK(c.kept());
}

TEST_CASE("what is expected to come back takes free room, and no one's place") {
  CacheMemory memory;
  memory.limit(1);
  Thing a;
  {
    Thing b;
    memory.next_turn();
    memory.touch(a);
    CHECK(memory.admit(a, 1, true));
    memory.next_turn();
    memory.touch(b);
    CHECK_FALSE(memory.admit(b, 1, true));
    memory.forget(a);
    CHECK(memory.admit(b, 1, true));
  }
  CHECK(memory.bytes() == 0);
}

}  // namespace
}  // namespace koord::scheduling::test
