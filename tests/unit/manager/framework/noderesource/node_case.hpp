// A node with its pods, their metrics and a strategy, for tests of what it lends.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/koordinator/classes.hpp"
#include "plugins.hpp"
#include "plugins/batch_resource/batch_resource.hpp"
#include "plugins/mid_resource/mid_resource.hpp"

namespace koord::manager {

inline constexpr std::string_view kNow = "2026-01-02T03:00:00Z";

struct Use {
  std::string_view cpu, memory;
};
struct PodRow {
  std::string_view name, qos, priority;  // labels; empty: none
  Use request, used;                     // used.cpu empty: no metric
  std::string_view phase = "Running";
};
struct MetricRow {
  std::string_view name, priority;
  Use used;
};

inline api::ResourceList list(Use use) {
  return {{"cpu", api::Quantity::must(use.cpu)}, {"memory", api::Quantity::must(use.memory)}};
}

/// All plugins, and every gate that they look at as given.
inline ResourcePlugins all_resource_plugins(bool share_gpu = false) {
  static constexpr FeatureGate kRows[] = {gate_off("EnableSyncGPUSharedResource")};
  FeatureGates gates(kRows);
  if (share_gpu) (void)gates.set("EnableSyncGPUSharedResource=true");
  return choose_plugins(resource_plugin_table(), gates, [](auto) { return true; });
}

/// A node with its pods, their metrics and a strategy.
struct Case {
  api::Node node;
  std::vector<std::shared_ptr<const api::Pod>> pods;
  api::NodeMetric metric;
  ColocationStrategy strategy;
  api::Time now = api::Time::parse(kNow).value();

  explicit Case(Use capacity = {"100", "120G"}, Use system = {"7", "12G"}) {
    node.metadata.name = "n";
    node.status.capacity = node.status.allocatable = list(capacity);
    metric.status.update_time = now;
    metric.status.node_metric.emplace().system_usage.resources = list(system);
    strategy.cpu_reclaim_threshold_percent = strategy.memory_reclaim_threshold_percent = 65;
    strategy.degrade_time_minutes = 15;
    strategy.mid_cpu_threshold_percent = strategy.mid_memory_threshold_percent = 100;
  }
  Case& add(const PodRow& row) {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.namespace_ = Symbol("default");
    pod->metadata.name = row.name;
    if (!row.qos.empty()) pod->metadata.labels[api::kQosLabel] = Symbol(row.qos);
    if (!row.priority.empty()) pod->metadata.labels[api::kPriorityClassLabel] = Symbol(row.priority);
    pod->status.phase = Symbol(row.phase);
    pod->spec.containers.emplace_back().resources.requests = list(row.request);
    pods.push_back(std::move(pod));
    if (!row.used.cpu.empty()) add(MetricRow{row.name, row.priority, row.used});
    return *this;
  }
  Case& add(const MetricRow& row) {
    api::PodMetricInfo& info = metric.status.pods_metric.emplace_back();
    info.namespace_ = Symbol("default");
    info.name = row.name;
    info.priority = Symbol(row.priority);
    info.pod_usage.resources = list(row.used);
    return *this;
  }
  static std::string text(const OvercommitAmount& amount) {
    return amount.cpu.to_string() + " " + api::Quantity::from_int(amount.memory.value()).to_string();
  }
  NodeView view() const { return {node, pods, &metric, strategy, now}; }
  std::string batch() const { return text(batch_amount(view())); }
  std::string mid() const { return text(mid_amount(view())); }
};

}  // namespace koord::manager
