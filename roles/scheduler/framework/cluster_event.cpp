// Cluster events: see cluster_event.hpp.
#include "framework/cluster_event.hpp"

namespace koord::scheduler {

std::string_view label(EventKind kind) {
  switch (kind) {
    case EventKind::node_add: return "NodeAdd";
    case EventKind::node_allocatable: return "NodeUpdateNodeAllocatable";
    case EventKind::node_label: return "NodeUpdateNodeLabel";
    case EventKind::node_taint: return "NodeUpdateNodeTaint";
    case EventKind::assigned_pod_delete: return "AssignedPodDelete";
    case EventKind::assigned_pod_scale_down: return "AssignedPodUpdatePodScaleDown";
    case EventKind::own_pod_scale_down: return "UnschedulablePodUpdatePodScaleDown";
    case EventKind::own_pod_toleration: return "UnschedulablePodUpdatePodToleration";
    case EventKind::own_pod_gates_gone: return "UnschedulablePodUpdatePodSchedulingGatesEliminated";
  }
  return "";
}

}  // namespace koord::scheduler
