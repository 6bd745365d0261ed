// policy/v1: PodDisruptionBudget.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/api/values/int_or_string.hpp"

namespace koord::api {

struct PodDisruptionBudgetSpec {
  std::optional<IntOrString> min_available;  // a number or a percentage; excludes max_unavailable
  Box<LabelSelector> selector;               // absent: no pods, empty: all of the namespace
  std::optional<IntOrString> max_unavailable;
  Symbol unhealthy_pod_eviction_policy;  // IfHealthyBudget when empty, AlwaysAllow
  KOORD_STRUCT(PodDisruptionBudgetSpec);
};

/// Written by the disruption controller, and by the API server as it evicts.
struct PodDisruptionBudgetStatus {
  int64_t observed_generation = 0;
  FlatMap<Time> disrupted_pods;  // by name: evicted at that time, not seen to go yet
  int32_t disruptions_allowed = 0;
  int32_t current_healthy = 0;
  int32_t desired_healthy = 0;
  int32_t expected_pods = 0;
  List<Condition> conditions;  // DisruptionAllowed
  KOORD_STRUCT(PodDisruptionBudgetStatus);
};

struct PodDisruptionBudget {
  ObjectMeta metadata;
  PodDisruptionBudgetSpec spec;
  PodDisruptionBudgetStatus status;
  KOORD_STRUCT(PodDisruptionBudget);
};

}  // namespace koord::api
