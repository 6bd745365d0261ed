// An engine with one node whose plugins "A" and "B" a test scripts: what the cycle is tested with.
#pragma once

#include <vector>

#include "scripted_plugin.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

inline PluginTable table() {
  static const std::vector<const PluginEntry*> kTable = [] {
    std::vector<const PluginEntry*> all(plugin_table().begin(), plugin_table().end());
    all.push_back(&kScriptedA);
    all.push_back(&kScriptedB);
    return all;
  }();
  return kTable;
}

inline KubeSchedulerConfiguration config() {
  KubeSchedulerConfiguration c;
  Plugins& plugins = c.profiles.emplace_back().plugins.emplace();
  plugins.multi_point.enabled = {{"A", {}}, {"B", {}}};
  plugins.post_filter.disabled = {{"DefaultPreemption", {}}, {"DynamicResources", {}}};
  return c;
}

/// One node with room for four CPUs.
struct Cycle : Script, World {
  explicit Cycle(EngineOptions options = {}, EventMask mask = {})
      : Script(), World((events = mask, config()), options, table()) {
    engine.put_node(make_node("n"));
  }
  Decision put(std::string name, std::string_view cpu = "1") {
    engine.put_pod(make_pod(std::move(name), cpu));
    return one();
  }
  /// The next decision; others may follow at once.
  Decision first() { return run(1).at(0); }
  void bound(const Decision& d) {
    engine.put_pod(changed(d.pod, [&](api::Pod& p) { p.spec.node_name = d.node(); }));
  }
};

}  // namespace koord::scheduling::test
