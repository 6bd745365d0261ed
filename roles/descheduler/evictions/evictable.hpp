// Which pods may be evicted at all, whoever wants them to go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/rules/selector.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::descheduler {

/// Kubernetes' own parts have this priority and higher ones.
inline constexpr std::int32_t kSystemCriticalPriority = 2'000'000'000;

/// What makes exceptions from the rules, and adds to them.
struct EvictableRules {
  bool failed_bare_pods = false;  // pods without an owner, if they have failed
  bool all_bare_pods = false;
  bool local_storage = false;  // pods with hostPath or emptyDir volumes
  bool daemon_sets = false;    // pods of a DaemonSet
  /// Pods of a system-critical priority, and those at the threshold and above.
  bool system_critical = false;
  std::optional<std::int32_t> priority_threshold;
  bool ignore_pvc_pods = false;
  std::optional<api::Selector> label_selector;  // only these
};

bool has_evict_annotation(const api::Pod& pod);

/// What speaks against it, in koord-descheduler's words and order; none: the pod may go.
/// The annotation is heeded: with it nothing speaks against it.
std::vector<std::string_view> why_not_evictable(const api::Pod& pod, const EvictableRules& rules);

}  // namespace koord::descheduler
