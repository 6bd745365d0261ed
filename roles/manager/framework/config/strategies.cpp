// The schema tables of the ConfigMap's keys: see strategies.hpp.
#include "framework/config/strategies.hpp"

#include <fmt/format.h>

#include "koord/api/schema/table.hpp"

namespace koord::manager {

// The order is that in which upstream prints them.
KOORD_SCHEMA(
    ColocationStrategy, ROW(enable).doc("Whether nodes are shared with batch work; default false."),
    ROW(metric_aggregate_duration_seconds).min(1).doc("NodeMetric: the window of averages; default 300."),
    ROW(metric_report_interval_seconds).min(1).doc("NodeMetric: how often it is reported; default 60."),
    ROW(metric_aggregate_policy).doc("NodeMetric: the windows of percentiles; default 5m, 10m, 30m."),
    ROW(metric_memory_collect_policy).doc("Which page cache counts; default usageWithoutPageCache."),
    ROW(cpu_reclaim_threshold_percent).min(0).doc("What of the CPUs may be used at all; default 60."),
    ROW(cpu_calculate_policy).doc("usage (default) or maxUsageRequest."),
    ROW(memory_reclaim_threshold_percent).min(0).doc("What of the memory may be used at all; default 65."),
    ROW(memory_calculate_policy).doc("usage (default), request or maxUsageRequest."),
    ROW(degrade_time_minutes).min(1).doc("A NodeMetric older than this gives no resources; default 15."),
    ROW(update_time_threshold_seconds).min(1).doc("A node is written at least so often; default 300."),
    ROW(resource_diff_threshold).doc("A smaller change is not written at once; default 0.1."),
    ROW(mid_reclaim_mode).doc("static: a fixed share; otherwise by prediction."),
    ROW(mid_cpu_threshold_percent).wire("midCPUThresholdPercent").range(0, 100).doc("Default 100."),
    ROW(mid_memory_threshold_percent).range(0, 100).doc("Default 100."),
    ROW(mid_unallocated_percent).range(0, 100).doc("What of the unallocated becomes mid; default 0."),
    ROW(mid_static_cpu_reserved_percent).wire("midStaticCPUReservedPercent").range(0, 100).doc("Default 0."),
    ROW(mid_static_memory_reserved_percent).range(0, 100).doc("Default 0."),
    ROW(batch_cpu_threshold_percent)
        .wire("batchCPUThresholdPercent")
        .min(0)
        .doc("A ceiling of batch-cpu, percent of the capacity."),
    ROW(batch_memory_threshold_percent).min(0).doc("A ceiling of batch-memory, percent of the capacity."),
    ROW(abnormal_node_step_percent)
        .range(0, 100)
        .doc("koord's: what a node lends less after a NodeMetric that grew stale or an eviction; default 0."),
    ROW(abnormal_node_recover_minutes)
        .min(1)
        .doc("koord's: after so long without any of these it gets a step back; default 10."),
    ROW(extensions).preserve_unknown().doc("For third parties."));
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
