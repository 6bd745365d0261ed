// Who of best-effort work may be idle to the scheduler (cpu.idle).
#pragma once

#include "framework/model/inventory.hpp"

namespace koord::koordlet {

/// Whether the containers of a best-effort pod may be. An idle group has next to no weight among its siblings
/// and takes no shares, so that it is nothing for a pod, whose weight beside other pods counts, nor for a
/// container to which the runtime will write shares: that fails, and a resize in place with it. Containers of
/// Kubernetes' class BestEffort cannot be resized; the kubelet's static CPU policy has the runtime update
/// all, which on cgroup v2 writes the weight first and, refused, leaves them on CPUs that are others'.
inline bool containers_may_idle(const Inventory& inventory, const PodInfo& pod) {
  return pod.kube_qos == host::KubeQos::besteffort && !inventory.node.static_cpu_policy;
}

}  // namespace koord::koordlet
