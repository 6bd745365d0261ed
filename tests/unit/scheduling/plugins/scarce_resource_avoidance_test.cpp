// ScarceResourceAvoidance, with the cases of Koordinator's tests.
#include <catch2/catch.hpp>

#include "scored_alone.hpp"

namespace koord::scheduling::test {
namespace {

TEST_CASE("ScarceResourceAvoidance leaves scarce nodes to those that ask for them") {
  const char* const kArgs = R"({"resources":["nvidia.com/gpu"]})";
  const Amounts kNode{{"nvidia.com/gpu", "8"}, {"xx.xx/xx", "8"}};
  const Amounts kPod{{"cpu", "16"}, {"memory", "32Gi"}};
  const Scored cases[] = {
      {"one of two", kArgs, kNode, {}, kPod, 50},
      {"it has none", kArgs, {}, {}, kPod, 100},
      {"it has another", kArgs, {{"xx.xx/xx", "8"}}, {}, kPod, 100},
      {"the pod asks for it", kArgs, kNode, {}, {{"cpu", "1"}, {"nvidia.com/gpu", "1"}}, 100},
      {"one of four", kArgs, kNode, {}, {}, 75},
      {"all", R"({"resources":["nvidia.com/gpu","xx.xx/xx"]})", kNode, {}, kPod, 0},
      {"none of it", kArgs, {{"nvidia.com/gpu", "0"}, {"xx.xx/xx", "8"}}, {}, kPod, 100},
      {"nothing is scarce", "{}", kNode, {}, kPod, 100},
  };
  for (const Scored& c : cases) {
    INFO(c.name);
    CHECK(score_of("ScarceResourceAvoidance", c) == c.score);
  }
}

TEST_CASE("ScarceResourceAvoidance follows the nodes' objects") {
  World world(alone("ScarceResourceAvoidance", R"({"resources":["nvidia.com/gpu"]})"));
  world.engine.put_node(node_with("n", {{"nvidia.com/gpu", "8"}, {"xx.xx/xx", "8"}}));
  const auto score = [&] {
    return world.engine.evaluate(world.engine.profiles()[0], pod_with("p", {{"cpu", "1"}, {"memory", "1Gi"}}))
        .score(0);
  };
  CHECK(score() == 50);
  world.engine.put_node(node_with("n", {{"xx.xx/xx", "8"}}));
  CHECK(score() == 100);
  world.engine.put_node(node_with("n", {{"nvidia.com/gpu", "8"}}));
  CHECK(score() == 0);
}

}  // namespace
}  // namespace koord::scheduling::test
