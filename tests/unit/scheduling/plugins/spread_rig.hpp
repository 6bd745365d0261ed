// PodTopologySpread by itself: rows, pods and objects, and what the plugin says of them.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "koord/scheduling/plugins.hpp"
#include "scheduling/plugins/pod_topology_spread/args.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

struct SpreadRig {
  using Args = pod_topology_spread::PodTopologySpreadArgs;

  explicit SpreadRig(Args args = system_defaults()) {
    nodes.observe(topology);
    nodes.observe(selectors);
    const PluginEntry* entry = find_plugin(plugin_table(), "PodTopologySpread");
    auto made = entry->make(std::make_shared<Args>(std::move(args)),
                            {nodes, verdicts, topology, selectors, objects, shared, engine.context().placed,
                             engine.context().cycle, engine.context().nominator, engine.context().clock, 0});
    if (!made) throw std::runtime_error(made.error().message());
    plugin = std::move(*made);
    filter = dynamic_cast<CrossNodeFilterPlugin*>(plugin.get());
    score = dynamic_cast<CrossNodeScorePlugin*>(plugin.get());
    hints = dynamic_cast<EventPlugin*>(plugin.get());
  }
  static Args system_defaults() {
    Args args;
    args.defaulting_type = "System";
    return args;
  }

  PodInfo info(const api::Pod& pod) {
    return make_pod_info(std::make_shared<api::Pod>(pod), nodes.resources());
  }
  void put_node(const api::Node& node) {
    nodes.set_node(nodes.row_of(node.metadata.name), std::make_shared<api::Node>(node));
  }
  void remove_node(const std::string& name) { nodes.set_node(nodes.find(name), nullptr); }
  /// On the node that its spec names; returns it, to remove it with.
  const PodInfo* put_pod(const api::Pod& pod) {
    pods.push_back(std::make_unique<PodInfo>(info(pod)));
    nodes.add_pod(nodes.row_of(pod.spec.node_name), *pods.back());
    return pods.back().get();
  }
  void remove_pod(const PodInfo* pod) {
    nodes.remove_pod(nodes.find(pod->pod->spec.node_name), *pod);
    std::erase_if(pods, [&](const auto& p) { return p.get() == pod; });
  }
  template <class T>
  void put(const T& object) {
    objects.find(kube::kObjectType<T>)
        ->put({object.metadata.namespace_, object.metadata.name}, std::make_shared<T>(object));
  }

  /// A letter a row: + yes, - no, ! no, whatever is evicted. Or "skip", or "error: why".
  std::string judge(PodState& state, const PodInfo& pod, std::span<const Row> rows) {
    const PreFiltered said = filter->pre_filter(state, pod);
    if (said.skip) return "skip";
    if (!said.rejected.empty()) return (said.code == StatusCode::error ? "error: " : "") + said.rejected;
    return verdicts_on(state, rows);
  }
  std::string verdicts_on(PodState& state, std::span<const Row> rows) {
    std::vector<VerdictId> out(rows.size());
    filter->filter(state, nodes, rows, out);
    std::string letters;
    for (const VerdictId id : out) letters += id == kPass ? '+' : verdicts[id].unresolvable ? '!' : '-';
    return letters;
  }

  ManualClock clock;
  Engine engine{clock, {}};  // for what a plugin may do to other pods, of which there are none
  NodeTable nodes;
  TopologyTable topology{nodes};
  PodSelectors selectors;
  VerdictTable verdicts;
  ObjectStores objects;
  SharedParts shared;
  std::vector<std::unique_ptr<PodInfo>> pods;
  std::unique_ptr<Plugin> plugin;
  CrossNodeFilterPlugin* filter;
  CrossNodeScorePlugin* score;
  EventPlugin* hints;
};

}  // namespace koord::scheduling::test
