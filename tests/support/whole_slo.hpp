// whole_slo: a NodeSLO that asks for everything of the node agent.
#pragma once

#include <memory>
#include <string_view>

#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

namespace koord::testing {

/// All that a NodeSLO's own fields can ask for of the parts that are here, with thresholds that no test's
/// load reaches: no pod has to go. Extensions are the caller's.
inline std::shared_ptr<api::NodeSloSpec> whole_slo(std::string_view cpu_suppress_policy) {
  auto spec = std::make_shared<api::NodeSloSpec>();
  auto& use = spec->resource_used_threshold_with_be.emplace();
  use.enable = true;
  use.cpu_suppress_policy = cpu_suppress_policy;
  use.cpu_suppress_threshold_percent = 65;
  use.memory_evict_threshold_percent = use.memory_allocatable_evict_threshold_percent = 95;
  use.memory_evict_lower_percent = use.memory_allocatable_evict_lower_percent = 90;
  use.cpu_evict_be_satisfaction_lower_percent = 10;
  use.cpu_evict_be_satisfaction_upper_percent = 20;
  use.cpu_evict_be_usage_threshold_percent = 90;
  use.cpu_evict_threshold_percent = use.cpu_allocatable_evict_threshold_percent = 95;
  use.cpu_evict_lower_percent = use.cpu_allocatable_evict_lower_percent = 90;
  use.evict_enabled_priority_threshold = use.allocatable_evict_priority_threshold = 5999;
  auto& burst = spec->cpu_burst_strategy.emplace();
  burst.policy = "auto";
  burst.cpu_burst_percent = 1000;
  burst.cfs_quota_burst_percent = 300;
  burst.cfs_quota_burst_period_seconds = -1;
  auto& system = spec->system_strategy.emplace();
  system.min_free_kbytes_factor = 100;
  system.watermark_scale_factor = 150;
  auto& classes = spec->resource_qos_strategy.emplace();
  for (auto* one : {&classes.lsr_class, &classes.ls_class, &classes.be_class}) {
    api::ResourceQos& qos = one->emplace();
    qos.cpu_qos.emplace().enable = true;
    auto& memory = qos.memory_qos.emplace();
    memory.enable = true;
    memory.qos.min_limit_percent = 20;
    memory.qos.low_limit_percent = 50;
    memory.qos.throttling_percent = 80;
  }
  return spec;
}

}  // namespace koord::testing
