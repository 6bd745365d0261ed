// PodDisruptionBudgets: whether one more pod may be evicted now.
#pragma once

#include "sandbox/api/verbs.hpp"

namespace koord::sandbox {

/// What the eviction of a pod means for its budget, which is written down in the budget's status (not in a
/// dry run). 429 with Kubernetes' message if the budget forbids it or has not been looked at by the
/// disruption controller yet, 500 if there are several.
Outcome<void> check_disruption(Verbs& verbs, const Object& pod, bool dry_run);

/// A number, or a percentage of `total` rounded up.
std::int64_t disruption_amount(const json::Value& value, std::int64_t total);

/// Sets DisruptionAllowed in a budget's status: True for SufficientPods, False for other reasons.
void set_disruption_condition(json::Value& status, std::string_view reason, std::string_view message,
                              const std::string& now, json::Arena& arena);

}  // namespace koord::sandbox
