// NodeResourcesBalancedAllocation: nodes whose resources are used to a like degree.
#include <catch2/catch.hpp>

#include "world.hpp"

namespace koord::scheduling::test {
namespace {

/// The balance alone decides.
KubeSchedulerConfiguration balanced() {
  KubeSchedulerConfiguration config;
  ProfileConfig& profile = config.profiles.emplace_back();
  PluginSet& score = profile.plugins.emplace().score;
  score.disabled = {{"*", {}}};
  score.enabled = {{"NodeResourcesBalancedAllocation", {}}};
  return config;
}

TEST_CASE("the node whose cpu and memory would be used to a like degree is best") {
  World world(balanced());
  world.engine.put_node(make_node("much-memory", "4", "64Gi"));
  world.engine.put_node(make_node("alike", "4", "8Gi"));
  world.engine.put_pod(make_pod("p", "1", "2Gi"));
  CHECK(world.one().node() == "alike");
  ClassState& state = world.engine.evaluate(world.engine.profiles()[0], make_pod("q", "1", "2Gi"));
  const NodeTable& nodes = world.engine.nodes();
  CHECK(state.score(nodes.find("alike")) == 100);       // 1/2 and 1/2
  CHECK(state.score(nodes.find("much-memory")) == 89);  // 1/4 and 1/32
}

TEST_CASE("a pod that asks for nothing has no say") {
  World world(balanced());
  world.engine.put_node(make_node("n", "4", "64Gi"));
  world.engine.put_pod(make_pod("there", "1", "", [](auto& p) { p.spec.node_name = "n"; }));
  ClassState& state = world.engine.evaluate(world.engine.profiles()[0], make_pod("p", "", ""));
  CHECK(state.score(0) == 0);
}

}  // namespace
}  // namespace koord::scheduling::test
