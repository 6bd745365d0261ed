// ClusterNetworkTopology: its layers, where nodes lie, and its status; rows of Koordinator's
// tree_manager_test.go.
#include <catch2/catch.hpp>

#include "scheduling/plugins/coscheduling/control/topology_writer.hpp"
#include "scheduling/plugins/coscheduling/topology/layers.hpp"
#include "scheduling/plugins/coscheduling/topology/rank.hpp"
#include "scheduling/plugins/coscheduling/topology/status.hpp"
#include "scheduling/plugins/coscheduling/topology/tree.hpp"
#include "topology_rig.hpp"

namespace koord::scheduling::coscheduling::test {
namespace {

using namespace topology;
using Labels = std::map<std::string_view, std::string_view>;

TEST_CASE("layers are put in order, and what cannot be is named") {
  struct Row {
    const char* name;
    std::vector<LayerRow> rows;
    const char *layers, *error;
  };
  const Row kRows[] = {
      {"in order",
       {{"S", ""}, {"B", "S"}, {api::kNodeTopologyLayer, "B"}},
       "ClusterTopologyLayer S B NodeTopologyLayer",
       ""},
      {"in another order",
       {{api::kNodeTopologyLayer, "B"}, {"S", "ClusterTopologyLayer"}, {"B", "S"}},
       "ClusterTopologyLayer S B NodeTopologyLayer",
       ""},
      {"nodes alone", {{api::kNodeTopologyLayer, ""}}, "ClusterTopologyLayer NodeTopologyLayer", ""},
      {"none", {}, "", "topology layer \"NodeTopologyLayer\" not found in spec"},
      {"without nodes",
       {{"S", ""}, {"B", "S"}},
       "",
       "topology layer \"NodeTopologyLayer\" not found in spec"},
      {"with a hole",
       {{"S", ""}, {api::kNodeTopologyLayer, "B"}},
       "",
       "topology layer \"B\" not found in spec"},
      {"one without nodes",
       {{"S", ""}, {api::kNodeTopologyLayer, ""}},
       "",
       "topology layer \"S\" has no nodes below it: no layer between it and the nodes names it as its "
       "parent"},
      {"a cycle",
       {{"S", "B"}, {"B", "S"}, {api::kNodeTopologyLayer, "B"}},
       "",
       "topology layer \"B\" hangs under itself"},
      {"a cycle of one",
       {{api::kNodeTopologyLayer, api::kNodeTopologyLayer}},
       "",
       "topology layer \"NodeTopologyLayer\" hangs under itself"},
      {"a cycle beside",
       {{"S", "B"}, {"B", "S"}, {api::kNodeTopologyLayer, ""}},
       "",
       "topology layer \"B\" has no nodes below it: no layer between it and the nodes names it as its "
       "parent"},
      {"twice",
       {{"S", ""}, {"S", ""}, {api::kNodeTopologyLayer, "S"}},
       "",
       "topology layer \"S\" is there twice"},
      {"the cluster",
       {{api::kClusterTopologyLayer, ""}, {api::kNodeTopologyLayer, api::kClusterTopologyLayer}},
       "",
       "topology layer \"ClusterTopologyLayer\" is the cluster itself, and cannot be one of its layers"},
      {"too many", std::vector<LayerRow>(32, {"S", ""}), "", "there are 32 topology layers, more than 31"},
  };
  for (const Row& row : kRows) {
    INFO(row.name);
    const auto layers = read_layers(topology_of(row.rows)->spec);
    CHECK(layers.has_value() == (row.error[0] == 0));
    if (!layers) {
      CHECK(layers.error().message() == row.error);
      continue;
    }
    std::vector<std::string_view> names;
    for (const Layer& layer : layers->all) names.push_back(layer.name);
    CHECK(fmt::format("{}", fmt::join(names, " ")) == row.layers);
  }
}

TEST_CASE("a node lies where its labels say") {
  const auto layers = read_layers(
      topology_of(
          {{"S", "", {"s", "spine"}}, {"B", "S", {"b"}}, {api::kNodeTopologyLayer, "B", {"not-read"}}})
          ->spec);
  REQUIRE(layers.has_value());
  struct Row {
    const char* name;
    Labels labels;
    const char *path, *missing;
  };
  const Row kRows[] = {
      {"all", {{"s", "s1"}, {"b", "b1"}}, "s1 b1 n", ""},
      {"the first label that it has", {{"s", "s1"}, {"spine", "s2"}, {"b", "b1"}}, "s1 b1 n", ""},
      {"another label of the layer", {{"spine", "s2"}, {"b", "b1"}}, "s2 b1 n", ""},
      {"an empty one counts as none", {{"s", ""}, {"spine", "s2"}, {"b", "b1"}}, "s2 b1 n", ""},
      {"without the layer above it: alone", {{"s", "s1"}}, "s1 n n", ""},
      {"without a higher one: nowhere", {{"b", "b1"}}, "", "S"},
      {"without any: nowhere", {}, "", "S"},
      {"nodes have no label", {{"s", "s1"}, {"b", "b1"}, {"not-read", "x"}}, "s1 b1 n", ""},
  };
  for (const Row& row : kRows) {
    INFO(row.name);
    api::SymbolMap labels;
    for (const auto& [key, value] : row.labels) labels[std::string(key)] = std::string(value);
    const Path path = path_of(*layers, "n", labels);
    CHECK(fmt::format("{}", fmt::join(path.names, " ")) == row.path);
    CHECK((path.missing != nullptr ? path.missing->name : "") == row.missing);
  }
}

TEST_CASE("domains come and go with their nodes") {
  Tree tree;
  const auto path = [](std::string a, std::string b, std::string c) { return std::vector{a, b, c}; };
  const Tree::Id n1 = tree.put(path("s1", "b1", "n1")), n2 = tree.put(path("s1", "b1", "n2"));
  // Of the same name in another spine: another one.
  const Tree::Id n3 = tree.put(path("s2", "b1", "n3"));
  CHECK(tree.of_layer(1).size() == 2);
  CHECK(tree.of_layer(2).size() == 2);
  CHECK(tree[tree[n1].parent].nodes == 2);
  const std::uint64_t before = tree.version();
  tree.remove(n1);
  CHECK(tree.version() != before);
  CHECK(tree[tree[n2].parent].nodes == 1);
  tree.remove(n2);
  CHECK(tree.of_layer(1).size() == 1);
  CHECK(tree.put(path("s2", "b2", "n1")) != n3);
  CHECK(tree[Tree::kRoot].nodes == 2);
  CHECK(tree.of_layer(2).size() == 2);
  tree.remove(n3);
  REQUIRE(tree.of_layer(1).size() == 1);
  REQUIRE(tree[tree.of_layer(1)[0]].children.size() == 1);
  CHECK(tree[tree[tree.of_layer(1)[0]].children[0]].name == "b2");
}

/// "LAYER/NAME in LAYER/NAME: 2 nodes, LAYER of a b", a line each.
std::string told(const api::ClusterNetworkTopologyStatus& status) {
  std::string text;
  for (const auto& row : status.detail_status) {
    text += fmt::format("{}/{}", row.topology_info.topology_layer.view(), row.topology_info.topology_name);
    if (row.parent_topology_info)
      text += fmt::format(" in {}/{}", row.parent_topology_info->topology_layer.view(),
                          row.parent_topology_info->topology_name);
    text += fmt::format(": {} nodes, {} of {}\n", row.node_num, row.child_topology_layer.view(),
                        fmt::join(row.child_topology_names, " "));
  }
  return text;
}

TEST_CASE("the status says which domains there are") {
  std::vector<std::shared_ptr<const api::Node>> nodes;
  for (const Place& p : kEight) nodes.push_back(node_in(p.node, p.spine, p.block));
  auto object = spines_and_blocks();
  const auto after = settled(*object, nodes);
  REQUIRE(after.has_value());
  CHECK(told(after->status) ==
        "ClusterTopologyLayer/: 8 nodes, SpineLayer of s1 s2\n"
        "SpineLayer/s1 in ClusterTopologyLayer/: 4 nodes, BlockLayer of b1 b2\n"
        "BlockLayer/b1 in SpineLayer/s1: 2 nodes, NodeTopologyLayer of \n"
        "BlockLayer/b2 in SpineLayer/s1: 2 nodes, NodeTopologyLayer of \n"
        "SpineLayer/s2 in ClusterTopologyLayer/: 4 nodes, BlockLayer of b3 b4\n"
        "BlockLayer/b3 in SpineLayer/s2: 2 nodes, NodeTopologyLayer of \n"
        "BlockLayer/b4 in SpineLayer/s2: 2 nodes, NodeTopologyLayer of \n");
  CHECK_FALSE(settled(*after, nodes));
  nodes.push_back(node_in("outside", "", "b1"));
  CHECK_FALSE(settled(*after, nodes));
  nodes.clear();
  CHECK(told(settled(*after, nodes)->status) == "ClusterTopologyLayer/: 0 nodes,  of \n");
  // What cannot be read leaves the status as it is.
  api::ClusterNetworkTopology bad = *after;
  bad.spec.network_topology_spec.pop_back();
  CHECK_FALSE(settled(bad, nodes));
}

TEST_CASE("a pod that names a selector goes near to those that name the same") {
  struct Case {
    const char* name;
    std::vector<std::pair<const char*, const char*>> there;  // {node, selector}
    std::vector<const char*> full;
    const char* order;
  };
  const Case kCases[] = {
      {"nobody is there: by name", {}, {}, "node-1 node-2 node-3 node-4 node-5 node-6 node-7 node-8"},
      {"the node, then its block, then its spine",
       {{"node-6", "job"}},
       {},
       "node-6 node-3 node-4 node-5 node-1 node-2 node-7 node-8"},
      {"others do not count",
       {{"node-6", "other"}},
       {},
       "node-1 node-2 node-3 node-4 node-5 node-6 node-7 node-8"},
      {"the more the better",
       {{"node-6", "job"}, {"node-4", "job"}, {"node-5", "job"}},
       {},
       "node-4 node-5 node-6 node-3 node-1 node-2 node-7 node-8"},
      {"then where less is free", {}, {"node-4", "node-1"}, "node-5 node-8 node-2 node-3 node-6 node-7"},
  };
  for (const Case& row : kCases) {
    INFO(row.name);
    Gathered world;
    int number = 0;
    for (const auto& [node, selector] : row.there)
      world.engine.put_pod(make_pod(fmt::format("there-{}", number++), "1", "128Mi",
                                    [&, at = node, named = selector](api::Pod& p) {
                                      p.spec.node_name = Symbol(at);
                                      p.metadata.annotations[api::kNetworkTopologySelector] = named;
                                    }));
    for (const char* node : row.full) world.fill(node);
    std::string order;
    const auto pod = make_pod("asks", "16", "128Mi", [](api::Pod& p) {
      p.metadata.annotations[api::kNetworkTopologySelector] = "job";
    });
    std::vector<Row> rows;
    for (const Place& p : kEight) {
      if (std::ranges::find(row.full, std::string_view(p.node)) == row.full.end())
        rows.push_back(world.engine.nodes().find(p.node));
    }
    std::ranges::sort(rows);
    const PluginContext context = world.engine.context();
    NetworkTopology& network = context.shared.get<NetworkTopology>(context);
    std::vector<std::int64_t> ranks;
    rank(network, selector_of(pod->metadata), world.engine.nodes(), rows, ranks);
    std::ranges::sort(rows, {}, [&](Row at) { return ranks[at]; });
    for (const Row at : rows) order += (order.empty() ? "" : " ") + world.engine.nodes().name(at).str();
    CHECK(order == row.order);
  }
}

}  // namespace
}  // namespace koord::scheduling::coscheduling::test
