// Gangs of Kubernetes' own whose nodes have to agree on a label.
#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kube_gangs.hpp"

namespace koord::scheduling::gang_scheduling::test {
namespace {

using namespace std::chrono_literals;

/// Racks of nodes of two pods each: r1 has one, r2 and r3 two, r4 three; one is in no rack.
struct Racks : KubeGangs {
  explicit Racks(int pods, int min) : KubeGangs(0) {
    constexpr int kNodes[] = {1, 2, 2, 3};
    for (int rack = 1; rack <= 4; ++rack)
      for (int n = 1; n <= kNodes[rack - 1]; ++n)
        node(fmt::format("r{}-{}", rack, n), fmt::format("r{}", rack));
    engine.put_node(make_node("alone", "8", "64Gi"));
    engine.put_object(pod_group("g", min, "rack"));
    for (int n = 0; n < pods; ++n)
      engine.put_pod(make_pod(fmt::format("p{}", n), "1", "128Mi", in_group("g")));
  }
  void node(const std::string& name, const std::string& rack) {
    engine.put_node(
        make_node(name, "2", "64Gi", [&](api::Node& node) { node.metadata.labels["rack"] = rack; }));
  }
  void fill(const std::string& node) {
    engine.put_pod(
        make_pod("on-" + node, "2", "128Mi", [&](api::Pod& p) { p.spec.node_name = Symbol(node); }));
  }
  /// The racks of those that are bound now, each once.
  std::string racks() {
    all();
    std::set<std::string> racks;
    for (const Decision& d : last)
      if (d.kind() == Decision::Kind::bind) racks.insert(d.node().str().substr(0, 2));
    return fmt::format("{}", fmt::join(racks, " "));
  }
  int binds() const {
    return static_cast<int>(
        std::ranges::count_if(last, [](const Decision& d) { return d.kind() == Decision::Kind::bind; }));
  }
};

TEST_CASE("a gang goes into the least rack that has room for it") {
  struct Row {
    const char* name;
    int pods, min;
    std::vector<const char*> full;
    const char* rack;
    int bound;
  };
  const Row kRows[] = {
      {"one node's rack", 2, 2, {}, "r1", 2},
      {"by name", 4, 4, {}, "r2", 4},
      {"not where something runs", 3, 3, {"r2-1"}, "r3", 3},
      {"the largest", 6, 6, {}, "r4", 6},
      {"all that wait, where they fit", 5, 2, {}, "r4", 5},
      {"else what it needs, and then as many as fit beside them", 7, 3, {}, "r2", 4},
  };
  for (const Row& row : kRows) {
    INFO(row.name);
    Racks world(row.pods, row.min);
    for (const char* node : row.full) world.fill(node);
    CHECK(world.racks() == row.rack);
    CHECK(world.binds() == row.bound);
  }
}

TEST_CASE("a gang that no rack has room for waits whole, and hears of each of them") {
  Racks world(7, 7);
  CHECK(world.racks().empty());
  CHECK(world.told("p0") ==
        "0/9 nodes are available: pod group default/g needs room for 7 pods on nodes with one value of the "
        "label \"rack\"; room by value: \"r4\": 6, \"r3\": 4, \"r2\": 4, \"r1\": 2; nodes that have no more: "
        "8 Insufficient cpu.");
  // A node more of a rack is heard of.
  world.node("r4-4", "r4");
  world.wait(20s);
  CHECK(world.racks() == "r4");
  CHECK(world.binds() == 7);
}

TEST_CASE("a gang waits for a label that no node has") {
  Racks world(0, 1);
  world.engine.put_object(pod_group("h", 1, "room"));
  world.engine.put_pod(make_pod("q", "1", "128Mi", in_group("h")));
  CHECK(world.racks().empty());
  CHECK_THAT(world.told("q"), Catch::Contains("label \"room\": no node has it"));
  world.wait(20s);
  CHECK(world.racks().empty());
  world.engine.put_node(
      make_node("alone", "8", "64Gi", [](api::Node& node) { node.metadata.labels["room"] = "1"; }));
  world.wait(20s);
  CHECK(world.racks() == "al");
}

TEST_CASE("who comes later goes where the others are, also after a restart") {
  const auto restarted = GENERATE(false, true);
  Racks first(4, 4);
  CHECK(first.racks() == "r2");
  std::vector<std::shared_ptr<const api::Pod>> bound;
  for (const Decision& d : first.last)
    if (d.kind() == Decision::Kind::bind)
      bound.push_back(changed(d.pod, [&](api::Pod& p) { p.spec.node_name = d.node(); }));
  REQUIRE(bound.size() == 4);
  first.settle();
  Racks second(0, 4);
  for (const auto& pod : bound) second.engine.put_pod(pod);
  Racks& world = restarted ? second : first;
  world.engine.put_pod(make_pod("late", "1", "128Mi", in_group("g")));
  CHECK(world.racks().empty());
  CHECK_THAT(world.told("late"), Catch::Contains("where its other pods are; room by value: \"r2\": 0"));
  world.engine.remove_pod(*bound[0]);
  world.wait(20s);
  CHECK(world.racks() == "r2");
  CHECK(world.binds() == 1);
}

}  // namespace
}  // namespace koord::scheduling::gang_scheduling::test
