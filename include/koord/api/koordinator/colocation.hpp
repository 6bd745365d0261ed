// How much of a node is lent to batch and mid pods, as the cluster's configuration and the node say it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"

namespace koord::api {

/// What is measured, and how slack becomes batch and mid resources: the key colocation-config of
/// slo-controller-config, and what a node's annotation says over it. What is absent is not said.
struct ColocationStrategy {
  static constexpr std::string_view kAnnotation = "node.koordinator.sh/colocation-strategy";

  std::optional<bool> enable;
  std::optional<int64_t> metric_aggregate_duration_seconds;
  std::optional<int64_t> metric_report_interval_seconds;
  Box<NodeAggregatePolicy> metric_aggregate_policy;
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
  std::optional<int64_t> abnormal_node_step_percent;     // koord's own, see the manager
  std::optional<int64_t> abnormal_node_recover_minutes;  // likewise
  RawJson extensions;
  KOORD_STRUCT(ColocationStrategy);
};

// Labels of nodes, shares such as "0.65": they go over everything else.
inline constexpr std::string_view kCpuReclaimRatio = "node.koordinator.sh/cpu-reclaim-ratio",
                                  kMemoryReclaimRatio = "node.koordinator.sh/memory-reclaim-ratio",
                                  kMidStaticCpuReservedRatio =
                                      "node.koordinator.sh/mid-static-cpu-reserved-ratio",
                                  kMidStaticMemoryReservedRatio =
                                      "node.koordinator.sh/mid-static-memory-reserved-ratio";
/// Those that are numbers from 0, as percent, cut in binary as Koordinator does (0.29 is 28).
void apply_ratio_labels(const SymbolMap& labels, ColocationStrategy& to);

}  // namespace koord::api
