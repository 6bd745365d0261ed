// LoadAwareSchedulingArgs: see args.hpp.
#include "scheduling/plugins/load_aware_scheduling/args.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/schema/table.hpp"
#include "koord/base/text.hpp"

namespace koord::scheduling::load_aware {

namespace {

constexpr std::string_view kAggregations[] = {"avg", "p50", "p90", "p95", "p99"};
constexpr std::int64_t kMost = 100;

/// As JSON, which is how the original prints it.
std::string print(const Numbers& numbers) {
  std::vector<std::string> members;
  for (const auto& [name, number] : numbers) members.push_back(fmt::format("{}:{}", quote(name), number));
  return fmt::format("{{{}}}", fmt::join(members, ","));
}

/// Of those that are out of bounds the first one is named.
void check(const Numbers& numbers, std::int64_t least, std::string_view what, const std::string& path,
           FieldErrors& errors) {
  for (const auto& [name, number] : numbers) {
    if (number >= least && number <= kMost) continue;
    return errors.invalid(path, print(numbers),
                          fmt::format("{} of {} should be {}, got {}", what, name.view(),
                                      number < least ? "a positive value" : "less than 100", number));
  }
}

void check_aggregation(const std::string& type, const std::optional<api::Duration>& duration,
                       const std::string& type_path, const std::string& duration_path, FieldErrors& errors) {
  if (!type.empty() && std::ranges::find(kAggregations, type) == std::end(kAggregations))
    errors.not_supported(type_path, type, kAggregations);
  if (duration && duration->value < nanoseconds{0})
    errors.invalid(duration_path, quote(duration->to_string()), "duration must be >= 0");
}

}  // namespace

void LoadAwareSchedulingArgs::complete() {
  if (resource_weights.empty() && dominant_resource_weight == 0)
    resource_weights = {{"cpu", 1}, {"memory", 1}};
  for (const auto& [name, factor] : Numbers{{"cpu", 85}, {"memory", 70}})
    if (!estimated_scaling_factors.contains(name)) estimated_scaling_factors[name] = factor;
}

void LoadAwareSchedulingArgs::validate(const std::string& path, FieldErrors& errors) const {
  // Without a path where Koordinator looks at them: when the plugin is made.
  const auto at = [&](std::string_view field) {
    return path.empty() ? std::string(field) : fmt::format("{}.{}", path, field);
  };
  if (node_metric_expiration_seconds && *node_metric_expiration_seconds <= 0)
    errors.invalid(at("nodeMetricExpiredSeconds"), std::to_string(*node_metric_expiration_seconds),
                   "nodeMetricExpiredSeconds should be a positive value");
  check(resource_weights, 1, "resource Weight", at("resourceWeights"), errors);
  if (dominant_resource_weight < 0 || dominant_resource_weight > kMost)
    errors.invalid(at("dominantResourceWeight"), std::to_string(dominant_resource_weight),
                   dominant_resource_weight < 0 ? "dominantResourceWeight should not be a negative value"
                                                : "dominantResourceWeight should be less than 100");
  check(usage_thresholds, 0, "resource Threshold", at("usageThresholds"), errors);
  check(estimated_scaling_factors, 1, "estimated resource ScalingFactor", at("estimatedScalingFactors"),
        errors);
  for (const auto& [name, weight] : resource_weights) {
    if (estimated_scaling_factors.contains(name)) continue;
    errors.add(fmt::format("{}: Not found: {}", at("estimatedScalingFactors"), quote(name)));
    break;
  }
  if (!aggregated) return;
  const AggregatedArgs& a = *aggregated;
  check(a.usage_thresholds, 0, "resource Threshold", at("aggregated.usageThresholds"), errors);
  check_aggregation(a.usage_aggregation_type, a.usage_aggregated_duration,
                    at("aggregated.usageAggregationType"), at("aggregated.usageAggregatedDuration"), errors);
  check_aggregation(a.score_aggregation_type, a.score_aggregated_duration,
                    at("aggregated.scoreAggregationType"), at("aggregated.scoreAggregatedDuration"), errors);
}

KOORD_SCHEMA(AggregatedArgs,
             ROW(usage_thresholds).doc("Per cent of a node's resources, of the usage of this aggregation."),
             ROW(usage_aggregation_type).doc("avg, p50, p90, p95 or p99."),
             ROW(usage_aggregated_duration).doc("Its period; absent or 0: the longest that is reported."),
             ROW(score_aggregation_type).doc("The same for scores; empty: by the usage of now."),
             ROW(score_aggregated_duration).doc("Its period."));
KOORD_OBJECT(
    LoadAwareSchedulingArgs, args_kind("LoadAwareSchedulingArgs"),
    ROW(filter_expired_node_metrics)
        .default_json("true")
        .doc("Whether a NodeMetric that is too old rejects the node; else it counts as if it were new."),
    ROW(node_metric_expiration_seconds)
        .default_json("180")
        .doc("From this age on a NodeMetric is too old; the node scores 0."),
    ROW(enable_schedule_when_node_metrics_expired)
        .default_json("false")
        .doc("With filterExpiredNodeMetrics: a NodeMetric that is too old does not reject, but passes."),
    ROW(resource_weights).doc("1 to 100; cpu 1, memory 1 where no weight at all is given."),
    ROW(dominant_resource_weight).doc("0 to 100: of the resource that scores least."),
    ROW(usage_thresholds)
        .default_json(R"({"cpu":65,"memory":95})")
        .doc("Per cent of a node's resources, 0 to 100; 0: none."),
    ROW(prod_usage_thresholds).doc("The same for prod pods, of what prod pods use; absent: as for others."),
    ROW(prod_usage_include_sys).doc("What no pod uses counts as used by prod pods."),
    ROW(score_according_prod_usage).doc("Scores of prod pods follow from what prod pods use."),
    ROW(estimator).doc("defaultEstimator, whatever is written."),
    ROW(estimated_scaling_factors)
        .doc("Per cent of its requests or limits that a pod is taken to use, 1 to 100; cpu 85, memory 70 "
             "where absent."),
    ROW(estimated_seconds_after_pod_scheduled)
        .doc("So long after it was bound a pod is taken to use no less, whatever is measured."),
    ROW(estimated_seconds_after_initialized).doc("So long after its init containers ended."),
    ROW(allow_customize_estimation).doc("Annotations of pods may say otherwise."),
    ROW(aggregated).doc("Percentiles instead of the usage of now."),
    ROW(supported_resources).doc("Further resources that annotations of nodes may name."));

}  // namespace koord::scheduling::load_aware
