// PodDisruptionBudgets: whether one more pod may be evicted now.
#pragma once

#include "sandbox/api/verbs.hpp"

namespace koord::sandbox {

/// 429 with Kubernetes' message if a budget forbids it, 500 if there are several.
Outcome<void> check_disruption(Verbs& verbs, const Object& pod);

}  // namespace koord::sandbox
