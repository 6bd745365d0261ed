// NodePorts: host ports that meet, and those that do not.
#include <catch2/catch.hpp>

#include "filter_cases.hpp"

namespace koord::scheduling::test {
namespace {

const std::string kPorts =
    "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.";

TEST_CASE("no two pods take one host port") {
  check_filter({
      {"port is free", {}, [](auto& p) { port(p, 81); }, ""},
      {"port is taken", {}, [](auto& p) { port(p, 80); }, kPorts},
      {"port is taken on all addresses", {}, [](auto& p) { port(p, 80, "10.0.0.1"); }, kPorts},
      {"other protocol", {}, [](auto& p) { port(p, 80, "", "UDP"); }, ""},
      {"other address", {}, [](auto& p) { port(p, 90, "10.0.0.2"); }, ""},
      {"the same address", {}, [](auto& p) { port(p, 90, "10.0.0.1"); }, kPorts},
      {"all addresses meet one", {}, [](auto& p) { port(p, 90, "0.0.0.0"); }, kPorts},
  });
}

TEST_CASE("a port is free again when the pod that held it goes, not when another does") {
  World world;
  world.engine.put_node(make_node("n"));
  auto holder = make_pod("holder", "1", "1Mi", [](auto& p) {
    p.spec.node_name = "n";
    port(p, 80);
  });
  auto plain = make_pod("plain", "1", "1Mi", [](auto& p) { p.spec.node_name = "n"; });
  world.engine.put_pod(holder);
  world.engine.put_pod(plain);
  world.engine.put_pod(make_pod("p", "1", "1Mi", [](auto& p) { port(p, 80); }));
  world.one();
  world.engine.remove_pod(*plain);
  CHECK(world.run().empty());
  world.engine.remove_pod(*holder);
  CHECK(world.one().kind() == Decision::Kind::bind);
}

}  // namespace
}  // namespace koord::scheduling::test
