// Cluster events: see cluster_event.hpp.
#include "koord/scheduling/cluster/cluster_event.hpp"

namespace koord::scheduling {

std::string_view label(EventKind kind) {
  switch (kind) {
    case EventKind::node_add: return "NodeAdd";
    case EventKind::node_delete: return "NodeDelete";
    case EventKind::node_allocatable: return "NodeUpdateNodeAllocatable";
    case EventKind::node_label: return "NodeUpdateNodeLabel";
    case EventKind::node_taint: return "NodeUpdateNodeTaint";
    case EventKind::node_condition: return "NodeUpdateNodeCondition";
    case EventKind::node_annotation: return "NodeUpdateNodeAnnotation";
    case EventKind::assigned_pod_add: return "AssignedPodAdd";
    case EventKind::assigned_pod_delete: return "AssignedPodDelete";
    case EventKind::assigned_pod_label: return "AssignedPodUpdatePodLabel";
    case EventKind::assigned_pod_scale_down: return "AssignedPodUpdatePodScaleDown";
    case EventKind::assigned_pod_ends:
    case EventKind::assigned_pod_update: return "AssignedPodUpdate";
    case EventKind::own_pod_label: return "UnschedulablePodUpdatePodLabel";
    case EventKind::own_pod_scale_down: return "UnschedulablePodUpdatePodScaleDown";
    case EventKind::own_pod_toleration: return "UnschedulablePodUpdatePodToleration";
    case EventKind::own_pod_gates_gone: return "UnschedulablePodUpdatePodSchedulingGatesEliminated";
    case EventKind::own_pod_update: return "UnschedulablePodUpdate";
    case EventKind::plugin_told: return "PluginTold";
  }
  return "";
}

std::string_view label(const ClusterEvent& event) {
  return event.object_label.empty() ? label(event.kind) : event.object_label;
}

}  // namespace koord::scheduling
