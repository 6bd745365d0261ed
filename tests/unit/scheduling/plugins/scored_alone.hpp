// One node and one pod, scored by one plugin alone.
#pragma once

#include "world.hpp"

namespace koord::scheduling::test {

using Amounts = std::vector<std::pair<const char*, const char*>>;

inline void set(api::ResourceList& list, const Amounts& amounts) {
  for (const auto& [name, amount] : amounts) list[name] = api::Quantity::must(amount);
}

inline std::shared_ptr<const api::Node> node_with(const std::string& name, const Amounts& amounts) {
  return make_node(name, "96", "512Gi", [&](api::Node& n) { set(n.status.allocatable, amounts); });
}

inline std::shared_ptr<const api::Pod> pod_with(const std::string& name, const Amounts& amounts,
                                                const char* node = "") {
  return make_pod(name, "", "", [&](api::Pod& p) {
    set(p.spec.containers[0].resources.requests, amounts);
    p.spec.node_name = node;
  });
}

inline KubeSchedulerConfiguration alone(const char* plugin, const char* args) {
  KubeSchedulerConfiguration config;
  ProfileConfig& profile = config.profiles.emplace_back();
  Plugins& plugins = profile.plugins.ensure();
  for (PluginSet* set : {&plugins.score, &plugins.pre_score}) {
    set->disabled.push_back({"*", {}});
    set->enabled.push_back({plugin, {}});
  }
  profile.plugin_config.push_back({plugin, {args}, nullptr});
  return config;
}

struct Scored {
  const char* name;
  const char* args;
  Amounts node, there, pod;
  std::int32_t score;
};

inline std::int32_t score_of(const char* plugin, const Scored& c) {
  World world(alone(plugin, c.args));
  world.engine.put_node(node_with("n", c.node));
  if (!c.there.empty()) world.engine.put_pod(pod_with("there", c.there, "n"));
  return world.engine.evaluate(world.engine.profiles()[0], pod_with("p", c.pod)).score(0);
}

}  // namespace koord::scheduling::test
