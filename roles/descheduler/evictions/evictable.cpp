// See evictable.hpp.
#include "evictions/evictable.hpp"

#include <algorithm>

#include "koord/api/koordinator/descheduling.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::descheduler {

namespace {

constexpr std::string_view kMirror = "kubernetes.io/config.mirror", kSource = "kubernetes.io/config.source";

bool is_static(const api::Pod& pod) {
  const auto* const source = pod.metadata.annotations.find(kSource);
  return source != nullptr && source->view() != "api";
}

bool has_local_storage(const api::Pod& pod) {
  return std::ranges::any_of(pod.spec.volumes,
                             [](const api::Volume& volume) { return volume.host_path || volume.empty_dir; });
}

}  // namespace

bool has_evict_annotation(const api::Pod& pod) {
  return pod.metadata.annotations.contains(api::kEvictAnnotation);
}

std::vector<std::string_view> why_not_evictable(const api::Pod& pod, const EvictableRules& rules) {
  std::vector<std::string_view> why;
  if (has_evict_annotation(pod)) return why;
  const auto& owners = pod.metadata.owner_references;
  if (!rules.daemon_sets &&
      std::ranges::any_of(owners, [](const auto& owner) { return owner.kind.view() == "DaemonSet"; }))
    why.emplace_back("pod is a DaemonSet pod");
  if (pod.metadata.annotations.contains(kMirror)) why.emplace_back("pod is a mirror pod");
  if (is_static(pod)) why.emplace_back("pod is a static pod");
  if (pod.metadata.deletion_timestamp) why.emplace_back("pod is terminating");

  if (!rules.all_bare_pods && owners.empty()) {
    if (!rules.failed_bare_pods)
      why.emplace_back("pod does not have any ownerRefs");
    else if (pod.status.phase.view() != "Failed")
      why.emplace_back("pod does not have any ownerRefs and is not in failed phase");
  }
  if (!rules.system_critical && pod.spec.priority) {
    if (*pod.spec.priority >= kSystemCriticalPriority) why.emplace_back("pod has system critical priority");
    if (rules.priority_threshold && *pod.spec.priority >= *rules.priority_threshold)
      why.emplace_back("pod has higher priority than specified priority class threshold");
  }
  if (!rules.local_storage && has_local_storage(pod))
    why.emplace_back("pod has local storage and descheduler is not configured with evictLocalStoragePods");
  if (rules.ignore_pvc_pods && std::ranges::any_of(pod.spec.volumes, [](const api::Volume& volume) {
        return static_cast<bool>(volume.persistent_volume_claim);
      }))
    why.emplace_back("pod has a PVC and descheduler is configured to ignore PVC pods");
  if (rules.label_selector && !rules.label_selector->matches(pod.metadata.labels))
    why.emplace_back("pod labels do not match the labelSelector filter in the policy parameter");
  return why;
}

}  // namespace koord::descheduler
