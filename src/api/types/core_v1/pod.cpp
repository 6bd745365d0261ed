// The schema tables of koord/api/types/core_v1/pod.hpp: Pod.
#include "koord/api/types/core_v1/pod.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(Toleration, ROW(key), ROW(operator_), ROW(value), ROW(effect), ROW(toleration_seconds));
KOORD_SCHEMA(TopologySpreadConstraint, ROW(max_skew).required(), ROW(topology_key).required(),
             ROW(when_unsatisfiable).required(), ROW(label_selector), ROW(min_domains),
             ROW(node_affinity_policy), ROW(node_taints_policy), ROW(match_label_keys));
KOORD_SCHEMA(ContainerPort, ROW(name), ROW(host_port), ROW(container_port).required(), ROW(protocol),
             ROW(host_ip).wire("hostIP"));
KOORD_SCHEMA(ResourceClaimRef, ROW(name).required(), ROW(request));
KOORD_SCHEMA(ResourceRequirements, ROW(limits), ROW(requests), ROW(claims));
KOORD_SCHEMA(ContainerResizePolicy, ROW(resource_name).required(), ROW(restart_policy).required());
KOORD_SCHEMA(SecurityContext, ROW(privileged), ROW(run_as_user));
KOORD_SCHEMA(Container, ROW(name).required(), ROW(image), ROW(image_pull_policy), ROW(restart_policy),
             ROW(ports).merge_key("containerPort"), ROW(resources), ROW(resize_policy),
             ROW(security_context));
KOORD_SCHEMA(PodSchedulingGate, ROW(name).required());
KOORD_SCHEMA(PodReadinessGate, ROW(condition_type).required());
KOORD_SCHEMA(PodOs, ROW(name).required());
KOORD_SCHEMA(PodResourceClaim, ROW(name).required(), ROW(resource_claim_name),
             ROW(resource_claim_template_name));
KOORD_SCHEMA(WorkloadReference, ROW(name).required(), ROW(pod_group).required(), ROW(pod_group_replica_key));
KOORD_SCHEMA(PodSchedulingGroup, ROW(pod_group_name));
KOORD_SCHEMA(PodSpec, ROW(node_name), ROW(scheduler_name), ROW(priority_class_name), ROW(priority),
             ROW(preemption_policy), ROW(restart_policy), ROW(service_account_name), ROW(runtime_class_name),
             ROW(host_network), ROW(host_pid).wire("hostPID"), ROW(host_users),
             ROW(termination_grace_period_seconds), ROW(active_deadline_seconds), ROW(node_selector),
             ROW(affinity), ROW(tolerations), ROW(topology_spread_constraints).merge_key("topologyKey"),
             ROW(scheduling_gates).merge_key("name"), ROW(readiness_gates),
             ROW(containers).required().merge_key("name"), ROW(init_containers).merge_key("name"),
             ROW(ephemeral_containers).merge_key("name"), ROW(volumes).merge_key("name"),
             ROW(resource_claims).merge_key("name"), ROW(overhead), ROW(resources), ROW(os),
             ROW(workload_ref), ROW(scheduling_group));
KOORD_SCHEMA(PodCondition, ROW(type).required(), ROW(status).required(), ROW(observed_generation),
             ROW(last_transition_time), ROW(reason), ROW(message));
KOORD_SCHEMA(ContainerStateWaiting, ROW(reason), ROW(message));
KOORD_SCHEMA(ContainerStateRunning, ROW(started_at));
KOORD_SCHEMA(ContainerStateTerminated, ROW(exit_code).required(), ROW(signal), ROW(reason), ROW(message),
             ROW(started_at), ROW(finished_at), ROW(container_id).wire("containerID"));
KOORD_SCHEMA(ContainerState, ROW(waiting), ROW(running), ROW(terminated));
KOORD_SCHEMA(ContainerStatus, ROW(name).required(), ROW(image).required(),
             ROW(image_id).wire("imageID").required(), ROW(container_id).wire("containerID"),
             ROW(restart_count).required(), ROW(ready).required(), ROW(started), ROW(state), ROW(last_state),
             ROW(allocated_resources), ROW(resources));
KOORD_SCHEMA(PodIp, ROW(ip).required());
KOORD_SCHEMA(PodResourceClaimStatus, ROW(name).required(), ROW(resource_claim_name));
KOORD_SCHEMA(PodStatus, ROW(phase), ROW(observed_generation), ROW(conditions).merge_key("type"), ROW(reason),
             ROW(message), ROW(nominated_node_name), ROW(host_ip).wire("hostIP"), ROW(pod_ip).wire("podIP"),
             ROW(pod_ips).wire("podIPs").merge_key("ip"), ROW(start_time), ROW(qos_class),
             ROW(init_container_statuses), ROW(container_statuses), ROW(ephemeral_container_statuses),
             ROW(resource_claim_statuses).merge_key("name"), ROW(resize), ROW(allocated_resources),
             ROW(resources));
KOORD_OBJECT(Pod, Kind("v1", "Pod", "pods"), ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
