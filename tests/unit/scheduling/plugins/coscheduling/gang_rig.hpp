// An engine whose profile has Coscheduling, gangs in a line, and what became of their pods.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "batch_world.hpp"
#include "koord/api/koordinator/gang.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"

namespace koord::scheduling::coscheduling::test {

using namespace scheduling::test;
using Kind = Decision::Kind;
using Says = std::map<std::string_view, std::string>;  // annotations

/// A member by annotations: of gang `gang`, of which `min` are needed.
inline std::shared_ptr<const api::Pod> member(const std::string& gang, int number, int min,
                                              const Says& says = {}, std::string_view cpu = "1",
                                              const PodEdit& edit = {}) {
  return make_pod(fmt::format("{}-{:03}", gang, number), cpu, "128Mi", [&](api::Pod& p) {
    p.metadata.annotations[api::kGangName] = gang;
    p.metadata.annotations[api::kGangMin] = std::to_string(min);
    for (const auto& [key, value] : says) p.metadata.annotations[key] = value;
    if (edit) edit(p);
  });
}

inline std::shared_ptr<const api::PodGroup> pod_group(const std::string& name, int min,
                                                      const Says& says = {}) {
  auto group = std::make_shared<api::PodGroup>();
  group->metadata.namespace_ = "default";
  group->metadata.name = name;
  group->metadata.uid = "uid-of-" + name;
  group->spec.min_member = min;
  for (const auto& [key, value] : says) group->metadata.annotations[key] = value;
  return group;
}

/// The pod is not where one is that has this label; `topology_key` says what "where" is.
inline void stay_away(api::Pod& pod, std::string_view label, std::string_view value,
                      std::string_view topology_key) {
  api::PodAffinityTerm& term = pod.spec.affinity.ensure().pod_anti_affinity.ensure().required.emplace_back();
  term.topology_key = Symbol(topology_key);
  term.label_selector.ensure().match_labels[label] = Symbol(value);
}

/// A member of a PodGroup.
inline std::shared_ptr<const api::Pod> grouped(const std::string& group, int number,
                                               std::string_view cpu = "1") {
  return make_pod(fmt::format("{}-{:03}", group, number), cpu, "128Mi",
                  [&](api::Pod& p) { p.metadata.labels[api::kPodGroupLabel] = group; });
}

struct Gangs : BatchWorld {
  explicit Gangs(int nodes = 0, std::string_view cpu = "8") : BatchWorld(config()) {
    for (int n = 0; n < nodes; ++n) engine.put_node(make_node(fmt::format("n{}", n), cpu, "64Gi"));
  }
  explicit Gangs(KubeSchedulerConfiguration with) : BatchWorld(std::move(with)) {}
  static KubeSchedulerConfiguration config() {
    KubeSchedulerConfiguration config;
    Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
    plugins.multi_point.enabled.push_back({"Coscheduling", {}});
    plugins.multi_point.enabled.push_back({"DefaultPreBind", {}});
    return config;
  }
  void put(const std::string& gang, int count, int min, const Says& says = {}, std::string_view cpu = "1") {
    for (int n = 0; n < count; ++n) engine.put_pod(member(gang, n, min, says, cpu));
  }
  std::string message_of(std::string_view name) const {
    for (const Decision& d : last)
      if (d.pod->metadata.name == name) return d.message();
    return "none";
  }
  /// All that existed at the start has been told.
  void synced() {
    for (const auto& each : engine.profiles()[0].plugins)
      if (auto* told = dynamic_cast<SyncedPlugin*>(each.plugin.get())) told->all_synced();
  }
};

}  // namespace koord::scheduling::coscheduling::test
