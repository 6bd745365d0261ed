// A failed attempt: what its message says when several filters have rejected nodes.
#include <catch2/catch.hpp>

#include "world.hpp"

namespace koord::scheduling::test {
namespace {

void taint(api::Node& node, const char* key, const char* value, const char* effect) {
  node.spec.taints.push_back({key, value, effect, {}});
}

TEST_CASE("every node counts once in the message, with the first filter's reasons") {
  World world;
  world.engine.put_node(make_node("a", "1"));
  world.engine.put_node(make_node("b", "1", "1Mi"));
  world.engine.put_node(make_node("c", "8", "8Gi", [](auto& n) { n.spec.unschedulable = true; }));
  world.engine.put_node(make_node("d", "1", "8Gi", [](auto& n) { taint(n, "x", "", "NoSchedule"); }));
  world.engine.put_pod(make_pod("p", "2"));
  CHECK(world.one().message() ==
        "0/4 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable, 2 Insufficient cpu.");
}

TEST_CASE("without nodes") {
  World world;
  world.engine.put_pod(make_pod("p"));
  Decision d = world.one();
  CHECK(d.kind() == Decision::Kind::unschedulable);
  CHECK(d.message() == "no nodes available to schedule pods");
}

}  // namespace
}  // namespace koord::scheduling::test
