// What the tests of LoadAwareScheduling share: reports of nodes in a line, pods, and a scheduler that has
// this plugin alone.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

using std::chrono::minutes;
using std::chrono::seconds;

inline api::ResourceMap usage(std::string_view cpu, std::string_view memory = {}) {
  api::ResourceMap map;
  if (!cpu.empty()) map.resources["cpu"] = api::Quantity::must(cpu);
  if (!memory.empty()) map.resources["memory"] = api::Quantity::must(memory);
  return map;
}

struct ReportedPod {
  std::string name, cpu, memory, priority;
};

/// A NodeMetric, a word at a time.
struct Report {
  api::NodeMetric metric;

  explicit Report(std::string name) { metric.metadata.name = std::move(name); }
  Report& at(WallTime time) {
    metric.status.update_time = api::Time(time);
    return *this;
  }
  Report& uses(std::string_view cpu, std::string_view memory = {}) {
    metric.status.node_metric.ensure().node_usage = usage(cpu, memory);
    return *this;
  }
  Report& aggregated(nanoseconds period, std::string_view type, api::ResourceMap of) {
    auto& all = metric.status.node_metric.ensure().aggregated_node_usages;
    if (all.empty() || all.back().duration != period) all.emplace_back().duration = period;
    all.back().usage[type] = std::move(of);
    return *this;
  }
  Report& system(std::string_view cpu, std::string_view memory) {
    metric.status.node_metric.ensure().system_usage = usage(cpu, memory);
    return *this;
  }
  Report& pods(std::vector<ReportedPod> all) {
    for (const ReportedPod& pod : all) {
      api::PodMetricInfo& info = metric.status.pods_metric.emplace_back();
      info.namespace_ = "default";
      info.name = pod.name;
      info.priority = Symbol(pod.priority);
      info.pod_usage = usage(pod.cpu, pod.memory);
    }
    return *this;
  }
  Report& every(seconds interval) {
    metric.spec.metric_collect_policy.ensure().report_interval_seconds = interval.count();
    return *this;
  }
  std::shared_ptr<const api::NodeMetric> done() const { return std::make_shared<api::NodeMetric>(metric); }
};

inline void condition(api::Pod& pod, std::string_view type, WallTime since,
                      std::string_view status = "True") {
  api::PodCondition& c = pod.status.conditions.emplace_back();
  c.type = Symbol(type);
  c.status = Symbol(status);
  c.last_transition_time = api::Time(since);
}

constexpr std::int32_t kProd = 9999, kMid = 7999, kBatch = 5000;

/// A pod that asks for, and may use, so much of these; on a node, of a priority.
struct Asks {
  std::string requests_cpu = {}, requests_memory = {};
  std::string limits_cpu = {}, limits_memory = {};
  std::int32_t priority = 0;
  std::string node = {};
  PodEdit edit = {};
};
inline std::shared_ptr<const api::Pod> load_pod(std::string name, const Asks& asks) {
  return make_pod(std::move(name), "", "", [&](api::Pod& pod) {
    pod.spec.node_name = Symbol(asks.node);
    if (asks.priority != 0) pod.spec.priority = asks.priority;
    const bool batch = asks.priority == kBatch, mid = asks.priority == kMid;
    const std::string_view cpu = batch ? "kubernetes.io/batch-cpu" : mid ? "kubernetes.io/mid-cpu" : "cpu";
    const std::string_view memory = batch ? "kubernetes.io/batch-memory"
                                    : mid ? "kubernetes.io/mid-memory"
                                          : "memory";
    api::ResourceRequirements& r = pod.spec.containers[0].resources;
    const auto set = [](api::ResourceList& list, std::string_view key, const std::string& amount) {
      if (!amount.empty()) list[key] = api::Quantity::must(amount);
    };
    set(r.requests, cpu, asks.requests_cpu);
    set(r.requests, memory, asks.requests_memory);
    set(r.limits, cpu, asks.limits_cpu);
    set(r.limits, memory, asks.limits_memory);
    if (asks.edit) asks.edit(pod);
  });
}

/// One profile with LoadAwareScheduling, and what every profile needs.
inline KubeSchedulerConfiguration load_config(std::string_view args = {}) {
  KubeSchedulerConfiguration config;
  ProfileConfig& profile = config.profiles.emplace_back();
  Plugins& plugins = profile.plugins.emplace();
  plugins.multi_point.disabled = {{"*", {}}};
  plugins.queue_sort.enabled = {{"PrioritySort", {}}};
  plugins.bind.enabled = {{"DefaultBinder", {}}};
  for (PluginSet* set : {&plugins.filter, &plugins.score, &plugins.reserve})
    set->enabled = {{"LoadAwareScheduling", {}}};
  if (!args.empty())
    profile.plugin_config.push_back({"LoadAwareScheduling", api::RawJson{std::string(args)}, nullptr});
  return config;
}

struct LoadWorld : World {
  explicit LoadWorld(std::string_view args = {}) : World(load_config(args)) {}

  /// 96 CPUs and 512 GiB.
  void node(const std::string& name, std::string_view thresholds = {}) {
    engine.put_node(make_node(name, "96", "512Gi", [&](api::Node& n) {
      if (!thresholds.empty())
        n.metadata.annotations["scheduling.koordinator.sh/usage-thresholds"] = Symbol(thresholds);
    }));
  }
  void report(const Report& report) { engine.put_object<api::NodeMetric>(report.done()); }
  /// Why the pod may not go to any of the nodes; empty: it may.
  std::string refused(std::shared_ptr<const api::Pod> pod) {
    const Diagnosis d = engine.evaluate(engine.profiles()[0], std::move(pod)).diagnose();
    return d.reasons.empty() ? "" : d.reasons.begin()->first;
  }
  /// On a node where it may go.
  std::int64_t score(std::shared_ptr<const api::Pod> pod, const std::string& node = "n") {
    return engine.evaluate(engine.profiles()[0], std::move(pod))
        .explain(engine.nodes().find(node))
        .scores.at(0)
        .raw;
  }
};

}  // namespace koord::scheduling::test
