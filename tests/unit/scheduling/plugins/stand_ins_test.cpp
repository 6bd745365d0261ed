// The stand-in for DynamicResources: what koord cannot judge yet waits, and is told why.
#include "filter_cases.hpp"

namespace koord::scheduling::test {
namespace {

constexpr const char* kRefused =
    "0/1 nodes are available: pod has resource claims, which koord does not schedule yet.";

void claim(api::Pod& pod) { pod.spec.resource_claims.emplace_back().name = "gpu"; }

TEST_CASE("pods with resource claims are refused by name") {
  check_filter({{"claim for devices", {}, claim, kRefused}, {"none", {}, {}, ""}});
}

TEST_CASE("what a profile leaves out is not refused for it") {
  const auto placed = [](bool left_out, bool prepares) {
    KubeSchedulerConfiguration config;
    Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
    PluginSet& set = prepares ? plugins.multi_point : plugins.pre_filter;
    if (left_out) set.disabled.push_back({"DynamicResources", {}});
    World world(std::move(config));
    world.engine.put_node(make_node("n"));
    world.engine.put_pod(make_pod("p", "1", "1Gi", claim));
    return world.one();
  };
  CHECK(placed(true, true).kind() == Decision::Kind::bind);
  CHECK(placed(false, true).message() == kRefused);
  // Without its PreFilter its filter says the same of each node.
  CHECK(placed(true, false).message() ==
        "0/1 nodes are available: 1 pod has resource claims, which koord does not schedule yet.");
}

TEST_CASE("a refused pod waits, whatever happens to nodes, and others of its kind are not refused") {
  World world;
  world.engine.put_node(make_node("n"));
  world.engine.put_pod(make_pod("p", "1", "1Gi", claim));
  CHECK(world.one().kind() == Decision::Kind::unschedulable);
  world.clock.advance(std::chrono::seconds(20));
  world.engine.put_node(make_node("m", "8"));
  world.engine.put_pod(make_pod("q", "1", "1Gi"));
  CHECK(world.one().kind() == Decision::Kind::bind);
  CHECK(world.engine.queue_sizes() == QueueSizes{.unschedulable = 1});
  // Deleted and made again under its name, without the claim.
  world.engine.put_pod(make_pod("p", "1", "1Gi", [](api::Pod& p) { p.metadata.uid = "another"; }));
  CHECK(world.one().kind() == Decision::Kind::bind);
}

}  // namespace
}  // namespace koord::scheduling::test
