// Network topologies in a line: spines, blocks and nodes, as Koordinator's tests have them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gang_rig.hpp"
#include "koord/api/types/scheduling_v1alpha1/cluster_network_topology.hpp"

namespace koord::scheduling::coscheduling::test {

constexpr std::string_view kSpineLabel = "network.topology.nvidia.com/spine",
                           kBlockLabel = "network.topology.nvidia.com/block";

/// Layers as {name, parent, labels}.
struct LayerRow {
  std::string_view name, parent;
  std::vector<std::string_view> labels = {};
};
inline std::shared_ptr<api::ClusterNetworkTopology> topology_of(const std::vector<LayerRow>& rows) {
  auto made = std::make_shared<api::ClusterNetworkTopology>();
  made->metadata.name = api::ClusterNetworkTopology::kName;
  made->metadata.uid = "uid-of-topology";
  for (const LayerRow& row : rows) {
    api::NetworkTopologyLayer& layer = made->spec.network_topology_spec.emplace_back();
    layer.topology_layer = Symbol(row.name);
    layer.parent_topology_layer = Symbol(row.parent);
    for (const std::string_view label : row.labels) layer.label_key.emplace_back(label);
  }
  return made;
}
inline std::shared_ptr<api::ClusterNetworkTopology> spines_and_blocks() {
  return topology_of({{"SpineLayer", "", {kSpineLabel}},
                      {"BlockLayer", "SpineLayer", {kBlockLabel}},
                      {api::kNodeTopologyLayer, "BlockLayer"}});
}

inline std::shared_ptr<const api::Node> node_in(const std::string& name, std::string_view spine,
                                                std::string_view block, std::string_view cpu = "16") {
  return make_node(name, cpu, "64Gi", [&](api::Node& node) {
    if (!spine.empty()) node.metadata.labels[std::string(kSpineLabel)] = std::string(spine);
    if (!block.empty()) node.metadata.labels[std::string(kBlockLabel)] = std::string(block);
  });
}

/// s1: b1 (node-8, node-1), b2 (node-7, node-2); s2: b3 (node-6, node-3), b4 (node-5, node-4).
struct Place {
  const char *node, *spine, *block;
};
inline constexpr Place kEight[] = {{"node-8", "s1", "b1"}, {"node-1", "s1", "b1"}, {"node-7", "s1", "b2"},
                                   {"node-2", "s1", "b2"}, {"node-6", "s2", "b3"}, {"node-3", "s2", "b3"},
                                   {"node-5", "s2", "b4"}, {"node-4", "s2", "b4"}};

/// Says where the members gather: {"layer", "strategy", multiple}.
struct Rule {
  std::string_view layer, strategy;
  int multiple = 0;
};
inline Says gathers(const std::vector<Rule>& rules) {
  std::string text = R"({"gatherStrategy":[)";
  for (const Rule& rule : rules) {
    if (text.back() == '}') text += ",";
    text += fmt::format(R"({{"layer":"{}","strategy":"{}")", rule.layer, rule.strategy);
    if (rule.multiple != 0) text += fmt::format(R"(,"podCountMultiple":{})", rule.multiple);
    text += "}";
  }
  return {{api::NetworkTopologySpec::kAnnotation, text + "]}"}};
}

/// Gangs in a cluster with a network topology.
struct Gathered : Gangs {
  explicit Gathered(std::string_view cpu = "16", bool there = true) : Gangs(aware()) {
    if (there) engine.put_object(std::shared_ptr<const api::ClusterNetworkTopology>(spines_and_blocks()));
    for (const Place& p : kEight) engine.put_node(node_in(p.node, p.spine, p.block, cpu));
  }
  static KubeSchedulerConfiguration aware() {
    KubeSchedulerConfiguration config = Gangs::config();
    config.profiles[0].plugin_config.push_back(
        {"Coscheduling", api::RawJson{R"({"awareNetworkTopology":true})"}, nullptr});
    return config;
  }
  /// A pod that somebody else has put onto the node.
  void fill(const std::string& node, std::string_view cpu = "16") {
    engine.put_pod(
        make_pod("on-" + node, cpu, "128Mi", [&](api::Pod& p) { p.spec.node_name = Symbol(node); }));
  }
  void empty(const std::string& node) {
    engine.remove_pod(
        *make_pod("on-" + node, "16", "128Mi", [&](api::Pod& p) { p.spec.node_name = Symbol(node); }));
  }
  /// "node-1 node-8": where the last batch went, by the pods' names.
  std::string places() const {
    std::map<std::string, std::string> nodes;
    for (const Decision& d : last)
      if (d.kind() == Kind::bind) nodes[d.pod->metadata.name] = d.node().str();
    std::vector<std::string_view> all;
    for (const auto& [pod, node] : nodes) all.push_back(node);
    return fmt::format("{}", fmt::join(all, " "));
  }
};

}  // namespace koord::scheduling::coscheduling::test
