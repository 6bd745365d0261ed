// NodeName: pods that name their node. They are bound and never queued, so that they are only evaluated.
#include <catch2/catch.hpp>

#include "world.hpp"

namespace koord::scheduling::test {
namespace {

TEST_CASE("a pod that names its node goes nowhere else") {
  World world;
  for (const char* name : {"a", "b"}) world.engine.put_node(make_node(name));
  const auto evaluate = [&](const char* node) -> ClassState& {
    return world.engine.evaluate(world.engine.profiles()[0],
                                 make_pod("p", "1", "1Gi", [&](api::Pod& p) { p.spec.node_name = node; }));
  };
  CHECK(evaluate("").feasible() == 2);
  ClassState& named = evaluate("b");
  CHECK(named.feasible() == 1);
  CHECK(named.verdict(world.engine.nodes().find("b")) == kPass);
  CHECK(fit_error(evaluate("c").diagnose()) ==
        "0/2 nodes are available: 2 node(s) didn't match the requested node name.");
}

}  // namespace
}  // namespace koord::scheduling::test
