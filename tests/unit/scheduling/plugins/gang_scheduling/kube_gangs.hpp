// An engine with kube-scheduler's profile and its gangs, their Workloads and PodGroups, and pods that name
// them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "batch_world.hpp"
#include "koord/api/types/kube_scheduling_v1alpha1/workload.hpp"
#include "koord/api/types/kube_scheduling_v1beta1/pod_group.hpp"
#include "koord/scheduling/config/kube_gates.hpp"

namespace koord::scheduling::gang_scheduling::test {

using namespace scheduling::test;
using Kind = Decision::Kind;

/// With kube-scheduler's gates, and these of them set.
inline FeatureGates gates(std::string_view set) {
  static const std::vector<FeatureGate> kRows = kube_gates();
  FeatureGates all(kRows);
  if (const auto done = all.set(set); !done) throw std::runtime_error(done.error().message());
  return all;
}
inline constexpr std::string_view kOn = "GenericWorkload=true,GangScheduling=true";

/// A pod of a Workload's group.
inline PodEdit refers(const std::string& workload, const std::string& group,
                      const std::string& replica = {}) {
  return [=](api::Pod& p) { p.spec.workload_ref.emplace() = {workload, group, replica}; };
}
/// The same in the later form.
inline PodEdit in_group(const std::string& group) {
  return [=](api::Pod& p) { p.spec.scheduling_group.emplace().pod_group_name = group; };
}
inline std::shared_ptr<const api::Pod> member(const std::string& name, const std::string& workload = "w",
                                              const std::string& group = "pg",
                                              const std::string& replica = {}) {
  return make_pod(name, "1", "128Mi", refers(workload, group, replica));
}

/// Groups by name; 0: basic.
using Groups = std::vector<std::pair<std::string, int>>;
inline std::shared_ptr<const api::Workload> workload(const std::string& name, const Groups& groups,
                                                     const std::string& uid = {}) {
  auto made = std::make_shared<api::Workload>();
  made->metadata.namespace_ = "default";
  made->metadata.name = name;
  made->metadata.uid = uid.empty() ? "uid-of-" + name : uid;
  for (const auto& [group, min] : groups) {
    api::WorkloadPodGroup& row = made->spec.pod_groups.emplace_back();
    row.name = group;
    if (min != 0) row.policy.gang.emplace().min_count = min;
  }
  return made;
}
inline std::shared_ptr<const api::KubePodGroup> pod_group(const std::string& name, int min,
                                                          const std::string& topology = {}) {
  auto made = std::make_shared<api::KubePodGroup>();
  made->metadata.namespace_ = "default";
  made->metadata.name = name;
  made->metadata.uid = "uid-of-" + name;
  if (min != 0) made->spec.scheduling_policy.gang.emplace().min_count = min;
  if (!topology.empty()) made->spec.scheduling_constraints.emplace().topology.push_back({topology});
  return made;
}

struct KubeGangs : BatchWorld {
  explicit KubeGangs(int nodes = 1, std::string_view cpu = "8", KubeSchedulerConfiguration config = {},
                     EngineOptions options = {}, std::string_view set = kOn)
      : BatchWorld(std::move(config), options, plugin_table(), gates(set)) {
    for (int n = 0; n < nodes; ++n) engine.put_node(make_node(fmt::format("n{}", n), cpu, "64Gi"));
  }
  void put(const std::string& name, int count, const std::string& group = "pg") {
    for (int n = 0; n < count; ++n) engine.put_pod(member(fmt::format("{}{}", name, n), "w", group));
  }
  /// The pods that are bound now, by name.
  std::string bound_pods() {
    all();
    std::set<std::string> names;
    for (const Decision& d : last)
      if (d.kind() == Kind::bind) names.insert(d.pod->metadata.name);
    return fmt::format("{}", fmt::join(names, " "));
  }
  /// What the pod was told last.
  std::string told(std::string_view name) const {
    std::string message = "nothing";
    for (const Decision& d : last)
      if (d.pod->metadata.name == name) message = d.message();
    return message;
  }
};

}  // namespace koord::scheduling::gang_scheduling::test
