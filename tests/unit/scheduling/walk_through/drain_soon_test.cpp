// DrainSoon, the plugin to copy: which nodes it keeps free, whom it sends there, what moves the pods that
// wait.
#include <catch2/catch.hpp>

#include "world.hpp"

namespace koord::scheduling {
extern const PluginEntry kDrainSoon;

namespace test {
namespace {

/// A row of plugins.cpp more.
PluginTable with_drain_soon() {
  static const std::vector<const PluginEntry*> kTable = [] {
    std::vector<const PluginEntry*> all(plugin_table().begin(), plugin_table().end());
    all.push_back(&kDrainSoon);
    return all;
  }();
  return kTable;
}

KubeSchedulerConfiguration configured(const char* args = "{}") {
  KubeSchedulerConfiguration config;
  ProfileConfig& profile = config.profiles.emplace_back();
  profile.plugins.ensure().multi_point.enabled.push_back({"DrainSoon", 10});
  profile.plugin_config.push_back({"DrainSoon", {args}, nullptr});
  return config;
}

std::shared_ptr<const api::Node> node(std::string name, const char* label = nullptr) {
  return make_node(std::move(name), "4", "8Gi", [label](api::Node& n) {
    if (label != nullptr) n.metadata.labels[label] = "";
  });
}
std::shared_ptr<const api::Pod> short_pod(std::string name) {
  return make_pod(std::move(name), "1", "1Gi",
                  [](api::Pod& pod) { pod.metadata.labels["example.com/short-lived"] = ""; });
}

struct Drained : World {
  Drained() : World(configured(), {}, with_drain_soon()) {
    engine.put_node(node("leaves", "example.com/drain-soon"));
  }
};

TEST_CASE("a node that will be drained takes short-lived pods alone, and those rather than others do") {
  Drained world;
  world.engine.put_pod(make_pod("long", "1"));
  const Decision refused = world.one();
  CHECK(refused.kind() == Decision::Kind::unschedulable);
  CHECK_THAT(refused.message(),
             Catch::StartsWith("0/1 nodes are available: 1 node(s) will be drained soon."));
  world.engine.put_node(node("stays"));
  CHECK(world.one().node() == "stays");
  world.engine.put_pod(short_pod("short"));
  CHECK(world.one().node() == "leaves");
}

TEST_CASE("who was rejected is tried again when the node stays after all, and for nothing else") {
  Drained world;
  world.engine.put_pod(make_pod("long", "1"));
  CHECK(world.one().kind() == Decision::Kind::unschedulable);
  world.clock.advance(std::chrono::seconds(30));  // its backoff is over
  world.engine.put_node(make_node("leaves", "4", "8Gi", [](api::Node& n) {
    n.metadata.labels["example.com/drain-soon"] = "";
    n.metadata.labels["other"] = "";
  }));
  CHECK(world.run().empty());
  world.engine.put_node(node("leaves"));
  CHECK(world.one().node() == "leaves");
}

TEST_CASE("its labels are the configuration's; what makes no sense is refused with its path") {
  World world(configured(R"({"nodeLabel":"leaving"})"), {}, with_drain_soon());
  world.engine.put_node(node("leaves", "leaving"));
  world.engine.put_pod(make_pod("long", "1"));
  CHECK(world.one().kind() == Decision::Kind::unschedulable);
  KubeSchedulerConfiguration same = configured(R"({"nodeLabel":"x","podLabel":"x"})");
  REQUIRE(complete(same, with_drain_soon()).has_value());
  const auto refused = validate(same, with_drain_soon());
  REQUIRE(refused.has_error());
  CHECK_THAT(refused.error().message(), Catch::Contains(R"(args.podLabel: Invalid value: "x")"));
}

}  // namespace
}  // namespace test
}  // namespace koord::scheduling
