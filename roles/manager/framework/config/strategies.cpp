// The schema tables of the ConfigMap's keys: see strategies.hpp.
#include "framework/config/strategies.hpp"

#include <fmt/format.h>

#include "koord/api/schema/table.hpp"

namespace koord::manager {

KOORD_SCHEMA(HostApplications, ROW(applications));
KOORD_SCHEMA(NodeSloExtensions, ROW(extensions).preserve_unknown());
KOORD_SCHEMA(ModelRatio, ROW(base_ratio), ROW(hyper_thread_enabled_ratio), ROW(turbo_enabled_ratio),
             ROW(hyper_thread_turbo_enabled_ratio));
KOORD_SCHEMA(CpuNormalizationStrategy, ROW(enable), ROW(default_ratio), ROW(ratio_model));
KOORD_SCHEMA(ResourceAmplificationStrategy, ROW(enable), ROW(resource_amplification_ratio));

std::optional<std::string> invalid(const ColocationStrategy& strategy) {
  // What the webhook refuses beyond this (resourceDiffThreshold above 1, static shares above 100) is taken
  // here, as upstream's controllers take it.
  struct Bound {
    const std::optional<int64_t>& value;
    std::string_view name;
    int64_t least, most;
  };
  constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();
  for (const Bound& bound : std::initializer_list<Bound>{
           {strategy.metric_aggregate_duration_seconds, "metricAggregateDurationSeconds", 1, kNoEnd},
           {strategy.metric_report_interval_seconds, "metricReportIntervalSeconds", 1, kNoEnd},
           {strategy.cpu_reclaim_threshold_percent, "cpuReclaimThresholdPercent", 0, kNoEnd},
           {strategy.mid_static_cpu_reserved_percent, "midStaticCPUReservedPercent", 0, kNoEnd},
           {strategy.memory_reclaim_threshold_percent, "memoryReclaimThresholdPercent", 0, kNoEnd},
           {strategy.mid_static_memory_reserved_percent, "midStaticMemoryReservedPercent", 0, kNoEnd},
           {strategy.degrade_time_minutes, "degradeTimeMinutes", 1, kNoEnd},
           {strategy.update_time_threshold_seconds, "updateTimeThresholdSeconds", 1, kNoEnd},
           {strategy.mid_cpu_threshold_percent, "midCPUThresholdPercent", 0, 100},
           {strategy.mid_memory_threshold_percent, "midMemoryThresholdPercent", 0, 100},
           {strategy.mid_unallocated_percent, "midUnallocatedPercent", 0, 100},
           {strategy.batch_cpu_threshold_percent, "batchCPUThresholdPercent", 0, kNoEnd},
           {strategy.batch_memory_threshold_percent, "batchMemoryThresholdPercent", 0, kNoEnd},
           {strategy.abnormal_node_step_percent, "abnormalNodeStepPercent", 0, 100},
           {strategy.abnormal_node_recover_minutes, "abnormalNodeRecoverMinutes", 1, kNoEnd}}) {
    if (!bound.value || (*bound.value >= bound.least && *bound.value <= bound.most)) continue;
    return bound.most == kNoEnd ? fmt::format("{}: {} is below {}", bound.name, *bound.value, bound.least)
                                : fmt::format("{}: {} is not between {} and {}", bound.name, *bound.value,
                                              bound.least, bound.most);
  }
  if (strategy.resource_diff_threshold && !(*strategy.resource_diff_threshold > 0))
    return "resourceDiffThreshold: not above 0";
  if (strategy.metric_memory_collect_policy && strategy.metric_memory_collect_policy->empty())
    return "metricMemoryCollectPolicy: empty";
  return std::nullopt;
}

}  // namespace koord::manager
