// What the keys of the ConfigMap slo-controller-config hold, beyond the strategies that are part of NodeSLO
// (apis/configuration upstream).
#pragma once

#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

namespace koord::manager {

/// colocation-config: what is measured, and how slack becomes batch and mid resources.
struct ColocationStrategy {
  std::optional<bool> enable;
  std::optional<int64_t> metric_aggregate_duration_seconds;
  std::optional<int64_t> metric_report_interval_seconds;
  api::Box<api::NodeAggregatePolicy> metric_aggregate_policy;
  std::optional<std::string> metric_memory_collect_policy;
  std::optional<int64_t> cpu_reclaim_threshold_percent;
  std::optional<std::string> cpu_calculate_policy;  // usage, maxUsageRequest
  std::optional<int64_t> memory_reclaim_threshold_percent;
  std::optional<std::string> memory_calculate_policy;  // usage, request, maxUsageRequest
  std::optional<int64_t> degrade_time_minutes;
  std::optional<int64_t> update_time_threshold_seconds;
  std::optional<double> resource_diff_threshold;  // a share of the old value, 0 to 1
  std::optional<std::string> mid_reclaim_mode;    // static
  std::optional<int64_t> mid_cpu_threshold_percent;
  std::optional<int64_t> mid_memory_threshold_percent;
  std::optional<int64_t> mid_unallocated_percent;
  std::optional<int64_t> mid_static_cpu_reserved_percent;
  std::optional<int64_t> mid_static_memory_reserved_percent;
  std::optional<int64_t> batch_cpu_threshold_percent;
  std::optional<int64_t> batch_memory_threshold_percent;
  std::optional<int64_t> abnormal_node_step_percent;     // koord's own, see noderesource/overcommit_level.hpp
  std::optional<int64_t> abnormal_node_recover_minutes;  // likewise
  api::RawJson extensions;
  KOORD_STRUCT(ColocationStrategy);
};

/// What a cluster's strategy must be like to be taken; the first thing that is wrong, or nothing. A field
/// that is absent is right.
std::optional<std::string> invalid(const ColocationStrategy& strategy);

/// host-application-config.
struct HostApplications {
  std::vector<api::HostApplicationSpec> applications;
  KOORD_STRUCT(HostApplications);
};

/// node-slo-extensions-config, koord's own key: reaches NodeSLO's spec.extensions as it is.
struct NodeSloExtensions {
  api::RawJson extensions;
  KOORD_STRUCT(NodeSloExtensions);
};

/// How much faster than the base a CPU model is, without and with hyper-threading and turbo.
struct ModelRatio {
  std::optional<double> base_ratio;
  std::optional<double> hyper_thread_enabled_ratio;
  std::optional<double> turbo_enabled_ratio;
  std::optional<double> hyper_thread_turbo_enabled_ratio;
  KOORD_STRUCT(ModelRatio);
};

/// cpu-normalization-config.
struct CpuNormalizationStrategy {
  std::optional<bool> enable;
  std::optional<double> default_ratio;
  api::FlatMap<ModelRatio> ratio_model;
  KOORD_STRUCT(CpuNormalizationStrategy);
};

/// resource-amplification-config.
struct ResourceAmplificationStrategy {
  std::optional<bool> enable;
  api::FlatMap<double> resource_amplification_ratio;
  KOORD_STRUCT(ResourceAmplificationStrategy);
};

}  // namespace koord::manager
