// What pods must not say: the rules of the pod-validating webhook, as functions of documents.
#pragma once

#include <string>

#include "koord/json/value.hpp"

namespace koord::manager {

// Each gives what is wrong in Kubernetes' words, or an empty text. The pods are such that check_pod finds
// right.

/// Annotations that only the scheduler sets. `created`: the pod is being created, when it has not set any.
std::string check_reserved_annotations(const json::Value& pod, bool created);

struct ClassRules {
  /// The label koordinator.sh/priority may change (gate ColocationProfileSkipValidatingPriority).
  bool priority_may_change = false;
};
/// Classes of quality of service and priority: what may not change (`before` is null for a new pod), which of
/// them go together, and what they must ask for.
std::string check_classes(const json::Value& pod, const json::Value& before, const ClassRules& rules);

/// cpu, memory and huge pages of the pod as a whole (spec.resources): no class of theirs is lent there, so
/// that a pod whose containers ask for batch or mid resources (or will: `lent`) must not name them.
std::string check_pod_level_resources(const json::Value& pod, bool lent);

/// GPUs and shares of them, container by container.
std::string check_device_resources(const json::Value& pod);

}  // namespace koord::manager
