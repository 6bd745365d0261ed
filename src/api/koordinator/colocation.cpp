#include "koord/api/koordinator/colocation.hpp"

#include <charconv>
#include <cmath>

#include "koord/api/schema/table.hpp"

namespace koord::api {
namespace {

std::optional<std::int64_t> percent(const SymbolMap& labels, std::string_view label) {
  const std::string_view text = value_or(labels, label);
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  const double percent = share * 100;
  if (!std::isfinite(percent) || share < 0 || percent >= 9e18) return std::nullopt;
  return static_cast<std::int64_t>(percent);
}

}  // namespace

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

void apply_ratio_labels(const SymbolMap& labels, ColocationStrategy& to) {
  const auto apply = [&labels](std::string_view label, std::optional<std::int64_t>& value) {
    if (const auto said = percent(labels, label)) value = said;
  };
  apply(kCpuReclaimRatio, to.cpu_reclaim_threshold_percent);
  apply(kMemoryReclaimRatio, to.memory_reclaim_threshold_percent);
  apply(kMidStaticCpuReservedRatio, to.mid_static_cpu_reserved_percent);
  apply(kMidStaticMemoryReservedRatio, to.mid_static_memory_reserved_percent);
}

}  // namespace koord::api
