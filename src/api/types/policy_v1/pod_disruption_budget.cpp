// The schema tables of koord/api/types/policy_v1/pod_disruption_budget.hpp: PodDisruptionBudget.
#include "koord/api/types/policy_v1/pod_disruption_budget.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

// A patch replaces the selector whole: kinds/merge_rules.cpp.
KOORD_SCHEMA(PodDisruptionBudgetSpec, ROW(min_available), ROW(selector), ROW(max_unavailable),
             ROW(unhealthy_pod_eviction_policy));
KOORD_SCHEMA(PodDisruptionBudgetStatus, ROW(observed_generation), ROW(disrupted_pods),
             ROW(disruptions_allowed).required(), ROW(current_healthy).required(),
             ROW(desired_healthy).required(), ROW(expected_pods).required(),
             ROW(conditions).merge_key("type"));
KOORD_OBJECT(PodDisruptionBudget, Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
             ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
