// Gangs in a profile where Coscheduling preempts, and who went for whom.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gang_rig.hpp"
#include "koord/api/koordinator/quota.hpp"
#include "koord/api/koordinator/scheduling.hpp"
#include "koord/api/types/policy_v1/pod_disruption_budget.hpp"
#include "support/sanitized.hpp"

namespace koord::scheduling::coscheduling::test {

inline KubeSchedulerConfiguration preempting_config(const std::vector<std::string>& post_filters = {
                                                        "Coscheduling"}) {
  KubeSchedulerConfiguration config = Gangs::config();
  ProfileConfig& profile = config.profiles.front();
  PluginSet& asked = profile.plugins.ensure().post_filter;
  asked.disabled.push_back({"*", {}});
  for (const std::string& name : post_filters) asked.enabled.push_back({name, {}});
  PluginConfig& args = profile.plugin_config.emplace_back();
  args.name = "Coscheduling";
  args.args = api::RawJson(R"({"enablePreemption":true})");
  return config;
}

/// On a node, of that priority.
inline std::shared_ptr<const api::Pod> running(const std::string& name, const std::string& node,
                                               std::string_view cpu, std::int32_t priority = 1,
                                               const PodEdit& edit = {}) {
  return make_pod(name, cpu, "", [&](api::Pod& p) {
    p.spec.node_name = Symbol(node);
    p.spec.priority = priority;
    p.metadata.labels["app"] = "running";
    if (edit) edit(p);
  });
}

/// The profile has ElasticQuota, too.
inline KubeSchedulerConfiguration with_quotas(KubeSchedulerConfiguration config) {
  config.profiles.front().plugins.ensure().multi_point.enabled.push_back({"ElasticQuota", {}});
  return config;
}
inline PodEdit in_quota(const char* quota, const PodEdit& more = {}) {
  return [=](api::Pod& p) {
    p.metadata.labels[std::string(api::kQuotaNameLabel)] = quota;
    if (more) more(p);
  };
}

/// Of all that are running().
inline std::shared_ptr<const api::PodDisruptionBudget> budget(int allowed) {
  auto made = std::make_shared<api::PodDisruptionBudget>();
  made->metadata.name = "running";
  made->metadata.namespace_ = "default";
  made->spec.selector.ensure().match_labels["app"] = "running";
  made->status.disruptions_allowed = allowed;
  return made;
}

inline PodEdit of_priority(std::int32_t priority) {
  return [=](api::Pod& p) { p.spec.priority = priority; };
}

/// As the API server says of a pod that it was asked to delete for preemption.
inline std::shared_ptr<const api::Pod> ending(const std::shared_ptr<const api::Pod>& pod) {
  return changed(pod, [](api::Pod& p) {
    p.metadata.deletion_timestamp = api::Time{};
    api::PodCondition& why = p.status.conditions.emplace_back();
    why.type = "DisruptionTarget";
    why.status = "True";
    why.reason = "PreemptionByScheduler";
  });
}

struct Preempting : World {
  explicit Preempting(KubeSchedulerConfiguration config = preempting_config(), const FeatureGates& gates = {})
      : World(std::move(config), {}, plugin_table(), gates) {}
  void nodes(int count, std::string_view cpu, const NodeEdit& edit = {}) {
    for (int n = 0; n < count; ++n)
      engine.put_node(make_node(fmt::format("node-{}", n + 1), cpu, "64Gi", edit));
  }
  void run_on(const std::string& name, const std::string& node, std::string_view cpu,
              std::int32_t priority = 1, const PodEdit& edit = {}) {
    engine.put_pod(pods[name] = running(name, node, cpu, priority, edit));
  }
  void gang(const std::string& name, int count, std::string_view cpu, std::int32_t priority = 1000,
            int min = 0, const PodEdit& edit = {}) {
    for (int n = 0; n < count; ++n)
      engine.put_pod(member(name, n, min == 0 ? count : min, {}, cpu, [&](api::Pod& p) {
        p.spec.priority = priority;
        if (edit) edit(p);
      }));
  }
  const std::vector<Decision>& all() { return last = run(); }
  /// All, when so much time has passed.
  void later(nanoseconds duration = std::chrono::seconds(20)) {
    clock.advance(duration);
    all();
  }
  /// The decision that preempts, or that has tried to; nullptr: none.
  const Decision* tried() const {
    const auto it = std::ranges::find_if(last, [](const Decision& d) { return d.preemption().tried; });
    return it != last.end() ? &*it : nullptr;
  }
  /// By name.
  std::string victims() const {
    std::vector<std::string> names;
    for (const Decision& d : last)
      for (const auto& victim : d.preemption().victims) names.push_back(victim.pod->metadata.name);
    std::ranges::sort(names);
    return fmt::format("{}", fmt::join(names, " "));
  }
  /// Whether nobody goes who is as important.
  bool spares(std::int32_t priority) const {
    return std::ranges::all_of(last, [&](const Decision& d) {
      return std::ranges::all_of(d.preemption().victims,
                                 [&](const auto& victim) { return *victim.pod->spec.priority < priority; });
    });
  }
  /// "pod:node", by name.
  std::string nominated() const {
    std::map<std::string, std::string> nodes;
    for (const Decision& d : last) {
      if (!d.preemption().tried) continue;
      if (d.nominate() && !d.nominate()->empty()) nodes[d.pod->metadata.name] = d.nominate()->str();
      for (const auto& other : d.preemption().nominations)
        nodes[other.pod->metadata.name] = other.node.empty() ? "none" : other.node.str();
    }
    std::vector<std::string> said;
    for (const auto& [pod, node] : nodes) said.push_back(pod + ":" + node);
    return fmt::format("{}", fmt::join(said, " "));
  }
  std::string message() const { return tried() != nullptr ? tried()->message() : "nobody tried"; }
  /// All victims were asked to go; `gone`: and have gone.
  void evict(bool gone = true) {
    for (const Decision& d : std::vector(last)) {
      const Preemption& p = d.preemption();
      if (p.victims.empty() && p.nominations.empty()) continue;
      for (const auto& victim : p.victims) {
        if (gone)
          engine.remove_pod(*victim.pod);
        else
          engine.put_pod(pods[victim.pod->metadata.name] = ending(victim.pod));
      }
      engine.preempted(*d.pod, true);
    }
  }
  /// Who was bound where, by name.
  std::string bound() const {
    std::map<std::string, std::string> nodes;
    for (const Decision& d : last)
      if (d.kind() == Kind::bind) nodes[d.pod->metadata.name] = d.node().str();
    std::vector<std::string> said;
    for (const auto& [pod, node] : nodes) said.push_back(pod + ":" + node);
    return fmt::format("{}", fmt::join(said, " "));
  }

  std::vector<Decision> last;
  std::map<std::string, std::shared_ptr<const api::Pod>> pods;
};

/// `count` random stories, a tenth of them under a sanitizer. story(below) says whether somebody went; in
/// more than an eighth of them somebody must. below(n) is a random number less than n, the same for the same
/// seed.
template <class Story>
void tell_stories(int count, const Story& story) {
  const int worlds = koord::test::is_short() ? count / 10 : count;
  int preempted = 0;
  for (int seed = 0; seed < worlds; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(static_cast<unsigned>(seed));
    preempted += story([&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); });
  }
  CHECK(preempted > worlds / 8);
}

}  // namespace koord::scheduling::coscheduling::test
