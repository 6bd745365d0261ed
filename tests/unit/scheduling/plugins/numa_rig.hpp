// What the tests of NodeNUMAResource share: machines with their topologies, pods that want CPUs of their own,
// and a scheduler that has this plugin alone.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu_machines.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/node.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

using Marks = std::vector<std::pair<std::string_view, std::string>>;

inline void mark(api::SymbolMap& map, const Marks& marks) {
  for (const auto& [key, value] : marks) map[key] = Symbol(value);
}

/// A node and what its agent reports of it.
struct NumaMachine {
  CpuMachine cpus{2, 1, 8, 2};
  std::string_view memory = "32Gi";  // of each memory node
  Marks labels = {}, annotations = {};
  Marks reported = {};  // annotations of the topology
  std::vector<std::string> policies = {};
  bool zones = true;

  int count() const { return cpus.sockets * cpus.zones * cpus.cores * cpus.threads; }
  std::shared_ptr<const api::Node> node(const std::string& name) const {
    const int zones_there = cpus.sockets * cpus.zones;
    return make_node(name, std::to_string(count()), "1Gi", [&](api::Node& node) {
      node.status.allocatable["memory"] = api::Quantity::must(memory) * zones_there;
      mark(node.metadata.labels, labels);
      mark(node.metadata.annotations, annotations);
    });
  }
  std::shared_ptr<const api::NodeResourceTopology> topology(const std::string& name) const {
    auto made = std::make_shared<api::NodeResourceTopology>();
    made->metadata.name = name;
    api::set_annotation(made->metadata.annotations, reported_cpus(cpus));
    mark(made->metadata.annotations, reported);
    for (const std::string& policy : policies) made->topology_policies.emplace_back(policy);
    const int zones_there = cpus.sockets * cpus.zones;
    for (int i = 0; zones && i < zones_there; ++i) {
      api::TopologyZone& zone = made->zones.emplace_back();
      zone.name = Symbol(fmt::format("node-{}", i));
      zone.type = Symbol("Node");
      const auto add = [&](std::string_view resource, const api::Quantity& amount) {
        zone.resources.push_back({Symbol(resource), amount, amount, amount});
      };
      add("cpu", api::Quantity::from_int(count() / zones_there));
      add("memory", api::Quantity::must(memory));
    }
    return made;
  }
};

inline PodEdit numa_pod(std::string_view qos, Marks annotations = {}, std::string_view node = {}) {
  return [=](api::Pod& pod) {
    if (!qos.empty()) pod.metadata.labels[api::kQosLabel] = Symbol(qos);
    mark(pod.metadata.annotations, annotations);
    pod.spec.node_name = Symbol(node);
  };
}
/// Of the class LSR.
inline std::shared_ptr<const api::Pod> lsr_pod(std::string name, std::string_view cpu, Marks annotations = {},
                                               std::string_view memory = "1Gi") {
  return make_pod(std::move(name), cpu, memory, numa_pod("LSR", std::move(annotations)));
}
inline std::pair<std::string_view, std::string> resource_spec(std::string_view text) {
  return {api::ResourceSpec::kAnnotation, std::string(text)};
}
inline std::pair<std::string_view, std::string> numa_spec(std::string_view policy,
                                                          std::string_view exclusive = {}) {
  return {api::NumaTopologySpec::kAnnotation,
          fmt::format(R"({{"numaTopologyPolicy":"{}","singleNUMANodeExclusive":"{}"}})", policy, exclusive)};
}
inline std::pair<std::string_view, std::string> resource_status(std::string_view text) {
  return {api::ResourceStatus::kAnnotation, std::string(text)};
}

inline KubeSchedulerConfiguration numa_config(std::string_view args = {}) {
  KubeSchedulerConfiguration config;
  ProfileConfig& profile = config.profiles.emplace_back();
  Plugins& plugins = profile.plugins.emplace();
  plugins.multi_point.disabled = {{"*", {}}};
  plugins.queue_sort.enabled = {{"PrioritySort", {}}};
  plugins.bind.enabled = {{"DefaultBinder", {}}};
  for (PluginSet* set : {&plugins.pre_filter, &plugins.filter, &plugins.score, &plugins.reserve})
    set->enabled = {{"NodeNUMAResource", {}}};
  plugins.pre_bind.enabled = {{"NodeNUMAResource", {}}, {"DefaultPreBind", {}}};
  if (!args.empty())
    profile.plugin_config.push_back({"NodeNUMAResource", api::RawJson{std::string(args)}, nullptr});
  return config;
}

struct NumaWorld : World {
  explicit NumaWorld(std::string_view args = {}) : World(numa_config(args)) {}
  explicit NumaWorld(KubeSchedulerConfiguration config) : World(std::move(config)) {}

  void machine(const std::string& name, const NumaMachine& machine) {
    engine.put_node(machine.node(name));
    engine.put_object<api::NodeResourceTopology>(machine.topology(name));
  }
  /// Why the pod may not go to any of the nodes; empty: it may.
  std::string refused(std::shared_ptr<const api::Pod> pod) {
    const Diagnosis d = engine.evaluate(engine.profiles()[0], std::move(pod)).diagnose();
    if (!d.prefilter_message.empty()) return d.prefilter_message;
    if (!d.error.empty()) return d.error;
    std::string all;
    for (const auto& [reason, nodes] : d.reasons) all += (all.empty() ? "" : "; ") + reason;
    return all;
  }
  std::int64_t score(std::shared_ptr<const api::Pod> pod, const std::string& node = "n") {
    return engine.evaluate(engine.profiles()[0], std::move(pod))
        .explain(engine.nodes().find(node))
        .scores.at(0)
        .raw;
  }
  Decision put(const std::shared_ptr<const api::Pod>& pod) {
    engine.put_pod(pod);
    return one();
  }
  /// Its annotation, and nothing else of it; or why it has none.
  static std::string given(const Decision& d, std::string_view key = api::ResourceStatus::kAnnotation) {
    const auto* bind = d.as<Decision::Bind>();
    if (bind == nullptr) return d.message();
    if (bind->changes == nullptr) return "nothing";
    const std::string* text = bind->changes->annotations.find(key);
    return text != nullptr ? *text : "nothing";
  }
  /// The pod as the API server has it when it is bound.
  static std::shared_ptr<const api::Pod> bound(const Decision& d) {
    const auto* bind = d.as<Decision::Bind>();
    return changed(
        bind->changes != nullptr ? std::make_shared<const api::Pod>(patched(*d.pod, *bind->changes)) : d.pod,
        [&](api::Pod& p) { p.spec.node_name = d.node(); });
  }
  std::shared_ptr<const api::Pod> place(const std::shared_ptr<const api::Pod>& pod) {
    const Decision d = put(pod);
    REQUIRE(d.kind() == Decision::Kind::bind);
    auto there = bound(d);
    engine.put_pod(there);
    return there;
  }
};

}  // namespace koord::scheduling::test
