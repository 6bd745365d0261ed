// The schema tables of koord/api/types/core_v1/node.hpp: Node.
#include "koord/api/types/core_v1/node.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(NodeSelectorRequirement, ROW(key).required(), ROW(operator_).required(), ROW(values));
KOORD_SCHEMA(NodeSelectorTerm, ROW(match_expressions), ROW(match_fields));
KOORD_SCHEMA(NodeSelector, ROW(node_selector_terms).required());
KOORD_SCHEMA(Taint, ROW(key).required(), ROW(value), ROW(effect).required(), ROW(time_added));
KOORD_SCHEMA(NodeSpec, ROW(pod_cidr).wire("podCIDR"), ROW(pod_cidrs).wire("podCIDRs").set_list(),
             ROW(provider_id).wire("providerID"), ROW(unschedulable), ROW(taints));
KOORD_SCHEMA(NodeCondition, ROW(type).required(), ROW(status).required(), ROW(last_heartbeat_time),
             ROW(last_transition_time), ROW(reason), ROW(message));
KOORD_SCHEMA(NodeAddress, ROW(type).required(), ROW(address).required());
KOORD_SCHEMA(ContainerImage, ROW(names), ROW(size_bytes));
KOORD_SCHEMA(DaemonEndpoint, ROW(port).wire("Port").required());
KOORD_SCHEMA(NodeDaemonEndpoints, ROW(kubelet_endpoint));
KOORD_SCHEMA(NodeSystemInfo, ROW(machine_id).wire("machineID"), ROW(system_uuid).wire("systemUUID"),
             ROW(boot_id).wire("bootID"), ROW(kernel_version), ROW(os_image), ROW(container_runtime_version),
             ROW(kubelet_version), ROW(kube_proxy_version), ROW(operating_system), ROW(architecture));
KOORD_SCHEMA(AttachedVolume, ROW(name).required(), ROW(device_path).required());
KOORD_SCHEMA(NodeStatus, ROW(capacity), ROW(allocatable), ROW(phase), ROW(conditions).merge_key("type"),
             ROW(addresses).merge_key("type"), ROW(daemon_endpoints), ROW(node_info), ROW(images),
             ROW(volumes_in_use), ROW(volumes_attached), ROW(declared_features));
KOORD_OBJECT(Node, Kind("v1", "Node", "nodes").cluster_scoped(), ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
