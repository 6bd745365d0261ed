// Whom hooks may have idle to the scheduler: see ../model/idle.hpp.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

#include "framework/hooks/hook.hpp"
#include "framework/model/idle.hpp"
#include "koord/host/cgroup_paths.hpp"

namespace koord::koordlet {

inline constexpr std::string_view kIdleOff = "disable-cpu-idle";  // a flag

inline bool is_kubelets_folder(const Inventory& inventory, std::string_view group) {
  constexpr host::KubeQos kAll[] = {host::KubeQos::guaranteed, host::KubeQos::burstable,
                                    host::KubeQos::besteffort};
  return std::any_of(std::begin(kAll), std::end(kAll), [&](host::KubeQos qos) {
    return host::kubepods_folder(inventory.driver, qos, inventory.kubelet_root) == group;
  });
}

/// The containers of best-effort pods, so that pods keep their weights beside each other; without Kubernetes
/// a best-effort group, to whose shares nobody writes. Not a folder of the kubelet's, to which it writes each
/// minute.
inline bool may_be_idle(const HookFacts& facts, const HookTarget& target) {
  if (facts.is_set(kIdleOff)) return false;
  switch (target.level) {
    case HookLevel::container:
      return target.pod->qos == Qos::be && containers_may_idle(facts.inventory, *target.pod);
    case HookLevel::best_effort_root: return !is_kubelets_folder(facts.inventory, target.group);
    case HookLevel::host_application:
      return target.application->qos == Qos::be && !is_kubelets_folder(facts.inventory, target.group);
    case HookLevel::machine:
    case HookLevel::qos_folder:
    case HookLevel::pod:
    case HookLevel::sandbox: break;
  }
  return false;
}

}  // namespace koord::koordlet
