// LoadAwareSchedulingArgs: which usage is too much, how usage becomes a score, and what pods are taken to
// use before anything was measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "koord/api/values/box.hpp"
#include "koord/api/values/string_map.hpp"
#include "koord/api/values/time.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling::load_aware {

/// Per cent, weights or factors by resource.
using Numbers = api::FlatMap<std::int64_t>;

struct AggregatedArgs {
  Numbers usage_thresholds;
  std::string usage_aggregation_type;  // avg, p50, p90, p95, p99
  std::optional<api::Duration> usage_aggregated_duration;
  std::string score_aggregation_type;
  std::optional<api::Duration> score_aggregated_duration;
  KOORD_STRUCT(AggregatedArgs);
};

struct LoadAwareSchedulingArgs {
  std::optional<bool> filter_expired_node_metrics;
  std::optional<std::int64_t> node_metric_expiration_seconds;
  std::optional<bool> enable_schedule_when_node_metrics_expired;
  Numbers resource_weights;
  std::int64_t dominant_resource_weight = 0;
  Numbers usage_thresholds;
  Numbers prod_usage_thresholds;
  bool prod_usage_include_sys = false;
  std::optional<bool> score_according_prod_usage;
  std::string estimator;
  Numbers estimated_scaling_factors;
  std::optional<std::int64_t> estimated_seconds_after_pod_scheduled;
  std::optional<std::int64_t> estimated_seconds_after_initialized;
  bool allow_customize_estimation = false;
  api::Box<AggregatedArgs> aggregated;
  std::vector<std::string> supported_resources;

  /// What follows from other fields: after the rows' defaults.
  void complete();
  void validate(const std::string& path, FieldErrors& errors) const;
  KOORD_STRUCT(LoadAwareSchedulingArgs);
};

}  // namespace koord::scheduling::load_aware
