// SchedulingGates: pods that wait for somebody.
#include <catch2/catch.hpp>

#include "world.hpp"

namespace koord::scheduling::test {
namespace {

TEST_CASE("gates keep a pod out until all are gone") {
  World world;
  world.engine.put_node(make_node("n"));
  auto pod = make_pod("p", "1", "1Mi", [](auto& p) { p.spec.scheduling_gates = {{"a"}, {"b"}}; });
  world.engine.put_pod(pod);
  CHECK(world.run().empty());
  CHECK(world.engine.queue_sizes().gated == 1);
  pod = changed(pod, [](auto& p) { p.spec.scheduling_gates.pop_back(); });
  world.engine.put_pod(pod);
  CHECK(world.run().empty());
  pod = changed(pod, [](auto& p) { p.spec.scheduling_gates.clear(); });
  world.engine.put_pod(pod);
  CHECK(world.one().kind() == Decision::Kind::bind);
}

}  // namespace
}  // namespace koord::scheduling::test
