// Gangs that name a network topology, through the engine; rows of Koordinator's
// network_topology_workflow_test.go.
#include <catch2/catch.hpp>

#include "topology_rig.hpp"

namespace koord::scheduling::coscheduling::test {
namespace {

using namespace std::chrono_literals;

const Says kPrefer = gathers({{"BlockLayer", "PreferGather"}, {"SpineLayer", "PreferGather"}});
const Says kBlock = gathers({{"BlockLayer", "MustGather"}, {"SpineLayer", "MustGather"}});
const Says kSpine = gathers({{"SpineLayer", "MustGather"}});

TEST_CASE("a gang is gathered") {
  struct Row {
    const char* name;
    Says says;
    int members;
    const char* cpu;
    std::vector<const char*> full;
    const char* places;  // by the members' names
  };
  const Row kRows[] = {
      {"preferred: in one spine", kPrefer, 4, "16", {}, "node-1 node-8 node-2 node-7"},
      {"it must be in one block", kBlock, 2, "16", {}, "node-1 node-8"},
      {"all on one node", kPrefer, 2, "8", {}, "node-1 node-1"},
      {"where the others are full", kBlock, 2, "16", {"node-1", "node-3", "node-4"}, "node-2 node-7"},
      {"the smallest that has room", kBlock, 2, "8", {"node-1", "node-2", "node-3"}, "node-7 node-7"},
      {"it spills where it may", kPrefer, 6, "16", {}, "node-1 node-8 node-2 node-7 node-3 node-6"},
      {"it must be in one spine", kSpine, 3, "16", {"node-1", "node-8"}, "node-3 node-6 node-4"},
      {"of a layer the lowest counts",
       gathers({{"NodeTopologyLayer", "MustGather"}}),
       2,
       "8",
       {"node-1"},
       "node-8 node-8"},
      {"the cluster",
       gathers({{"ClusterTopologyLayer", "MustGather"}}),
       8,
       "16",
       {},
       "node-1 node-8 node-2 node-7 node-3 node-6 node-4 node-5"},
      {"it says nothing of layers", gathers({}), 2, "16", {}, "node-1 node-8"},
      {"two on each node",
       gathers({{"NodeTopologyLayer", "PreferGather", 2}}),
       4,
       "4",
       {},
       "node-1 node-1 node-1 node-1"},
      {"multiples leave out what is left of a node",
       gathers({{"NodeTopologyLayer", "PreferGather", 2}, {"BlockLayer", "MustGather"}}),
       4,
       "5",
       {},
       "node-1 node-1 node-8 node-8"},
  };
  for (const Row& row : kRows) {
    INFO(row.name);
    Gathered world;
    for (const char* node : row.full) world.fill(node);
    world.put("g", row.members, row.members, row.says, row.cpu);
    CHECK(world.bound() == row.members);
    CHECK(world.places() == row.places);
    CHECK(world.engine.queue_sizes() == QueueSizes{});
  }
}

TEST_CASE("a gang that fits in no domain waits whole, and hears of each of them") {
  Gathered world;
  world.fill("node-1");
  world.fill("node-3");
  world.put("g", 4, 4, kSpine, "16");
  CHECK(world.bound() == 0);
  CHECK(world.engine.assumed() == 0);
  const std::string said =
      "0/8 nodes are available: no candidate topology nodes can accommodate job, desiredOfferSlot: 4, "
      "topology "
      "topologyNode SpineLayer/s1: 3;topology topologyNode SpineLayer/s2: 3, 0/8 nodes are available: 8 "
      "Insufficient cpu..";
  int blamed = 0, told = 0;
  for (const Decision& d : world.last) {
    blamed += d.message() == said;
    if (const auto* gated = d.as<Decision::Gated>())
      told += gated->message.find("GangGroup \"default/g\" gets rejected due to member Pod \"default/g-") !=
                  std::string::npos &&
              gated->message.find("8 no candidate topology nodes can accommodate job, desiredOfferSlot: 4") !=
                  std::string::npos;
  }
  CHECK(blamed == 1);
  CHECK(told == 3);
  world.wait(30s);
  CHECK(world.all().empty());
  // Another spine's room is of no use, its own is.
  world.empty("node-1");
  world.wait(30s);
  CHECK(world.bound() == 4);
  CHECK(world.places() == "node-1 node-8 node-2 node-7");
}

TEST_CASE("multiples that are asked for are told") {
  Gathered world;
  world.put("g", 8, 8, gathers({{"SpineLayer", "MustGather"}, {"BlockLayer", "PreferGather", 3}}), "16");
  CHECK(world.bound() == 0);
  CHECK(world.last[0].message() ==
        "0/8 nodes are available: no candidate topology nodes can accommodate job, desiredOfferSlot: 8, "
        "topology "
        "topologyNode SpineLayer/s1: 0;topology topologyNode SpineLayer/s2: 0, 0/8 nodes are available: 8 "
        "Insufficient cpu.; podCountMultiple constraints: BlockLayer=3.");
}

TEST_CASE("members go to neighbours by their index, then by name") {
  Gathered world;
  const auto with = [](int index) {
    return [index](api::Pod& p) {
      for (const auto& [key, value] : kSpine) p.metadata.annotations[key] = value;
      if (index >= 0) p.metadata.annotations[api::kNetworkTopologyIndex] = std::to_string(index);
    };
  };
  const int kIndexes[] = {2, 10, -1, 1};
  for (int n = 0; n < 4; ++n) world.engine.put_pod(member("g", n, 4, {}, "16", with(kIndexes[n])));
  CHECK(world.bound() == 4);
  // The order is g-003, g-000, g-001, g-002.
  CHECK(world.places() == "node-8 node-2 node-7 node-1");
}

TEST_CASE("pods that are there already draw the gang to them") {
  Gathered world;
  const auto selected = [](api::Pod& p) { p.metadata.annotations[api::kNetworkTopologySelector] = "job"; };
  const auto there = make_pod("there", "1", "1Mi", [&](api::Pod& p) {
    selected(p);
    p.spec.node_name = "node-5";
  });
  world.engine.put_pod(there);
  Says says = kBlock;
  says[api::kNetworkTopologySelector] = "job";
  SECTION("the block where they are, if it has room") {
    world.put("g", 2, 2, says, "8");
    CHECK(world.bound() == 2);
    CHECK(world.places() == "node-4 node-4");
  }
  SECTION("the node itself") {
    world.put("g", 2, 2, says, "4");
    CHECK(world.bound() == 2);
    CHECK(world.places() == "node-5 node-5");
  }
  SECTION("those of others do not") {
    says[api::kNetworkTopologySelector] = "another job";
    world.put("g", 2, 2, says, "4");
    CHECK(world.bound() == 2);
    CHECK(world.places() == "node-1 node-1");
  }
  SECTION("nor those that are gone") {
    world.engine.remove_pod(*there);
    world.put("g", 2, 2, says, "4");
    CHECK(world.bound() == 2);
    CHECK(world.places() == "node-1 node-1");
  }
}

TEST_CASE("rules between the members are kept where the rooms did not know of them") {
  Gathered world;
  const auto apart = [](api::Pod& p) {
    for (const auto& [key, value] : kSpine) p.metadata.annotations[key] = value;
    p.metadata.labels["app"] = "g";
    stay_away(p, "app", "g", "kubernetes.io/hostname");
  };
  for (int n = 0; n < 4; ++n) world.engine.put_pod(member("g", n, 4, {}, "1", apart));
  CHECK(world.bound() == 4);
  std::set<std::string> nodes;
  for (const Decision& d : world.last) nodes.insert(d.node().str());
  CHECK(nodes == std::set<std::string>{"node-1", "node-2", "node-7", "node-8"});
}

TEST_CASE("members that differ are placed together") {
  Gathered world;
  // A small one and three that take a node each.
  world.engine.put_pod(member("g", 0, 4, kSpine, "1"));
  for (int n = 1; n < 4; ++n) world.engine.put_pod(member("g", n, 4, kSpine, "16"));
  CHECK(world.bound() == 4);
  std::set<std::string> nodes;
  for (const Decision& d : world.last) nodes.insert(d.node().str());
  CHECK(nodes == std::set<std::string>{"node-1", "node-2", "node-7", "node-8"});
}

TEST_CASE("room is counted anew where something has changed, and nowhere else") {
  Gathered world;
  // Gang after gang of the same kind, until all is full.
  for (int gang = 0; gang < 8; ++gang) world.put(fmt::format("g{}", gang), 4, 4, kBlock, "4");
  world.put("last", 4, 4, kBlock, "4");
  CHECK(world.bound() == 32);
  CHECK(world.engine.assumed() == 32);
  std::map<std::string, std::set<std::string>> nodes;
  for (const Decision& d : world.last)
    if (d.kind() == Kind::bind) nodes[d.pod->metadata.name.substr(0, 2)].insert(d.node().str());
  for (const auto& [gang, on] : nodes) CHECK(on.size() == 1);
  world.engine.put_node(node_in("node-9", "s1", "b1"));
  world.wait(30s);
  CHECK(world.bound() == 4);
  CHECK(world.places() == "node-9 node-9 node-9 node-9");
}

TEST_CASE("bad topologies and wishes hold up the gang that names them, and nobody else") {
  struct Row {
    const char* name;
    std::shared_ptr<const api::ClusterNetworkTopology> topology;  // nullptr: there is none
    Says says;
    const char* message;  // part of it
  };
  const auto bad = topology_of({{"S", "B"}, {"B", "S"}, {api::kNodeTopologyLayer, "B"}});
  const Row kRows[] = {
      {"there is none", nullptr, kBlock, "0/8 nodes are available: no cluster network topology."},
      {"it has a cycle", bad, kBlock,
       "no cluster network topology: ClusterNetworkTopology default: topology layer \"B\" hangs under "
       "itself"},
      {"a layer that there is not", spines_and_blocks(), gathers({{"Rack", "MustGather"}}),
       "no candidate topology nodes can accommodate job, desiredOfferSlot: 2, , 0/8 nodes are available:; "
       "ClusterNetworkTopology default has no layer Rack"},
      {"no node has its labels",
       topology_of({{"S", "", {"nobody"}}, {"B", "S", {"has"}}, {api::kNodeTopologyLayer, "B"}}),
       gathers({{"B", "MustGather"}}), "no node has the labels of ClusterNetworkTopology default"},
  };
  for (const Row& row : kRows) {
    INFO(row.name);
    Gathered world("16", false);
    if (row.topology) world.engine.put_object(row.topology);
    world.put("g", 2, 2, row.says);
    world.engine.put_pod(make_pod("plain"));
    world.put("h", 2, 2);
    CHECK(world.bound() == 3);
    CHECK(world.last[0].message().find(row.message) != std::string::npos);
    INFO(world.last[0].message());
    CHECK(world.engine.assumed() == 3);
    // It is tried again when the topology is another one.
    if (row.says.begin()->second.find("Rack") != std::string::npos) continue;
    world.wait(30s);
    CHECK(world.all().empty());
    auto good = spines_and_blocks();
    good->spec.network_topology_spec[1].topology_layer = "B";
    good->spec.network_topology_spec[2].parent_topology_layer = "B";
    if (row.says == kBlock) good = spines_and_blocks();
    world.engine.put_object(std::shared_ptr<const api::ClusterNetworkTopology>(good));
    world.wait(30s);
    CHECK(world.bound() == 2);
  }
}

TEST_CASE("a node that comes into a domain by its label wakes the gang") {
  Gathered world;
  for (const char* node : {"node-1", "node-2", "node-3", "node-4"}) world.fill(node);
  world.put("g", 2, 2, kBlock, "16");
  CHECK(world.bound() == 0);
  world.wait(30s);
  CHECK(world.all().empty());
  // From b2 to b1, where node-8 is.
  world.engine.put_node(node_in("node-7", "s1", "b1"));
  world.wait(30s);
  CHECK(world.bound() == 2);
  CHECK(world.places() == "node-7 node-8");
}

TEST_CASE("members that cannot be placed are left out where the others are enough") {
  Gathered world;
  world.put("g", 2, 2, kBlock, "16");
  world.engine.put_pod(member("g", 2, 2, kBlock, "16", [](api::Pod& p) {
    p.spec.scheduling_gates.emplace_back().name = Symbol("later");
  }));
  CHECK(world.bound() == 2);
  CHECK(world.places() == "node-1 node-8");
}

TEST_CASE("who is not asked to gather does not") {
  SECTION("the plugin is not told to") {
    Gangs world;
    world.engine.put_node(node_in("n0", "s1", "b1"));
    world.put("g", 2, 2, kBlock);
    CHECK(world.bound() == 2);
  }
  SECTION("the annotation cannot be read") {
    Gathered world;
    world.put("g", 2, 2, {{api::NetworkTopologySpec::kAnnotation, "no JSON"}});
    CHECK(world.bound() == 2);
  }
  SECTION("the gang is a loose one") {
    Gathered world;
    Says says = kBlock;
    says[api::kGangMode] = "NonStrict";
    world.put("g", 4, 4, says, "16");
    CHECK(world.bound() == 4);
  }
}

}  // namespace
}  // namespace koord::scheduling::coscheduling::test
