// EvictRig: a QosRig on which pods use memory and CPU, ask for some, and are told to go.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugins/evict/terms.hpp"
#include "rigs/qos_rig.hpp"

namespace koord::koordlet::testing {

using Names = std::vector<std::string>;

inline constexpr double kG = 1e9;

/// A pod and what it uses: memory in GB, CPU in CPUs.
struct EvictRow {
  std::string name;
  Qos qos = Qos::be;
  std::int32_t priority = 100;
  double memory = kUnknown;
  double cpu = kUnknown;
  PodRequests requests = {};
  EvictionTerms eviction = {};
  std::string_view never_stop = {};
};

class EvictRig : public QosRig {
 public:
  explicit EvictRig(std::string_view gates_on, std::string journal = {})
      : QosRig(host::CgroupVersion::v1, std::move(journal)) {
    capacity(100);
    inventory.node.capacity_memory = inventory.node.allocatable_memory = 120'000'000'000;
    REQUIRE(gates.set(gates_on).has_value());
    restart();
    shape = [this](TickView& view) {
      view.node.memory = node_memory * kG;
      view.slots.show(&best_effort, view.at);
      view.interval = std::chrono::seconds(1);
      if (!fresh_pods) view.pods_listed = view.at - std::chrono::minutes(2);
      for (const auto& [metric, value] : {std::pair(Metric::be_cpu_usage, best_effort.usage_milli),
                                          {Metric::be_cpu_request, best_effort.request_milli},
                                          {Metric::be_cpu_real_limit, best_effort.real_limit_milli},
                                          {Metric::node_cpu, node_cpu}})
        if (known(value)) series.append(*series.open(metric, ""), view.at, value);
    };
  }
  void restart() {
    seconds["memory-evict-cool-time-seconds"] = std::chrono::seconds(4);
    seconds["cpu-evict-cool-time-seconds"] = std::chrono::seconds(20);
    start();
  }
  api::ResourceThresholdStrategy& slo() {
    auto spec = std::make_shared<api::NodeSloSpec>();
    auto& strategy = spec->resource_used_threshold_with_be.emplace();
    strategy.enable = true;
    inventory.slo = spec;
    return strategy;
  }
  void pods(const std::vector<EvictRow>& rows) {
    inventory.pods.clear();
    pod_usage.clear();
    for (const EvictRow& row : rows) {
      auto pod = std::make_shared<PodInfo>();
      pod->uid = pod->name = row.name;
      pod->ns = "ns";
      pod->qos = row.qos;
      pod->kube_qos = row.qos == Qos::be ? host::KubeQos::besteffort : host::KubeQos::burstable;
      pod->priority = row.priority;
      pod->priority_class = api::koord_priority_of(row.priority);
      pod->requests = row.requests;
      pod->terms.put(std::make_shared<const EvictionTerms>(row.eviction));
      pod->never_stop = row.never_stop;
      pod->group = fmt::format("kubepods/pod{}", row.name);
      pod->containers.push_back({.name = "c", .id = "c", .group = fmt::format("kubepods/pod{}/c", row.name)});
      inventory.pods.push_back(pod);
      pod_usage.push_back({.cpu = row.cpu, .memory = row.memory * kG});
    }
    inventory.all_pods = inventory.pods;
    ++inventory.generation;
  }
  Names tick_for(int ticks = 1) {
    for (int i = 0; i < ticks; ++i) tick(node_cpu);
    return victims();
  }
  /// Those that were told to go and have not been asked about yet.
  Names victims() const {
    Names names;
    for (const auto& told : runner.told) names.push_back(told.action.pod->name);
    return names;
  }
  std::string summary(std::string_view strategy) const {
    for (const auto& report : manager->strategies())
      if (report.name == strategy) return report.status.summary;
    return "";
  }

  double node_memory = kUnknown;  // GB
  double node_cpu = kUnknown;
  BestEffortUse best_effort;
  bool fresh_pods = true;
};

inline EvictionTerms enabled(std::int32_t priority = 0, std::optional<std::int64_t> within = {}) {
  return {.enabled = true, .priority = priority, .within = within, .policies = {}};
}

inline std::vector<EvictRow> six(double first, double second, double third) {
  return {{"lsr", Qos::lsr, 1000, 40},        {"ls", Qos::ls, 500, 30},
          {"noqos", Qos::none, 100, 10},      {"be_100_1", Qos::be, 100, first},
          {"be_100_2", Qos::be, 100, second}, {"be_120", Qos::be, 120, third}};
}

}  // namespace koord::koordlet::testing
