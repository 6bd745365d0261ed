// PrioritySort: who is tried first.
#include <catch2/catch.hpp>

#include "world.hpp"

namespace koord::scheduling::test {
namespace {

PodEdit priority(int value) {
  return [value](api::Pod& p) { p.spec.priority = value; };
}

TEST_CASE("the higher priority first, then the older") {
  World world;
  world.engine.put_node(make_node("n"));
  world.engine.put_pod(make_pod("a"));
  world.clock.advance(std::chrono::seconds(1));
  world.engine.put_pod(make_pod("b", "1m", "1Mi", priority(5)));
  world.engine.put_pod(make_pod("c"));
  world.engine.put_pod(make_pod("d", "1m", "1Mi", priority(5)));
  CHECK(names(world.run()) == "b d a c");
}

}  // namespace
}  // namespace koord::scheduling::test
