// Tables for the tests of filters: what they reject, with which words, and which events undo it.
#pragma once

#include <catch2/catch.hpp>

#include "world.hpp"

namespace koord::scheduling::test {

inline void port(api::Pod& pod, int number, const char* ip = "", const char* protocol = "TCP") {
  pod.spec.containers[0].ports.push_back({{}, number, 80, protocol, ip});
}

struct FilterCase {
  const char* name;
  NodeEdit node;
  PodEdit pod;
  std::string message;  // empty: it is bound
};

/// The only node has 4 CPUs and 8 GiB, and on it a pod with the host ports 80 and 10.0.0.1:90.
inline void check_filter(const std::vector<FilterCase>& cases) {
  for (const FilterCase& c : cases) {
    INFO(c.name);
    World world;
    world.engine.put_node(make_node("n", "4", "8Gi", c.node));
    world.engine.put_pod(make_pod("there", "", "", [](api::Pod& p) {
      p.spec.node_name = "n";
      port(p, 80);
      port(p, 90, "10.0.0.1");
    }));
    world.engine.put_pod(make_pod("p", "100m", "128Mi", c.pod));
    Decision d = world.one();
    CHECK(d.message() == c.message);
    CHECK((d.kind() == Decision::Kind::bind) == c.message.empty());
  }
}

struct EventCase {
  const char* name;
  NodeEdit node;    // of the node that rejects the pod
  PodEdit pod;      // what makes the pod rejected
  NodeEdit change;  // what happens to the node
  bool tried_again;
};

inline void check_events(const std::vector<EventCase>& cases) {
  for (const EventCase& c : cases) {
    INFO(c.name);
    World world;
    auto node = make_node("n", "4", "8Gi", c.node);
    world.engine.put_node(node);
    world.engine.put_pod(make_pod("p", "1", "1Gi", c.pod));
    CHECK(world.one().kind() == Decision::Kind::unschedulable);
    world.clock.advance(std::chrono::seconds(5));
    CHECK(world.run().empty());
    auto after = std::make_shared<api::Node>(*node);
    c.change(*after);
    world.engine.put_node(after);
    auto out = world.run();
    CHECK(out.size() == (c.tried_again ? 1 : 0));
    if (c.tried_again && !out.empty()) CHECK(out[0].kind() == Decision::Kind::bind);
  }
}

}  // namespace koord::scheduling::test
