// The schema tables of koord/api/types/core_v1/pod.hpp: Pod.
#include "koord/api/types/core_v1/pod.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr std::string_view kPodShort[] = {"po"};
constexpr Kind kPod = {.group = "",
                       .version = "v1",
                       .kind = "Pod",
                       .plural = "pods",
                       .singular = "pod",
                       .short_names = kPodShort,
                       .has_status = true};

}  // namespace

template <>
const Schema& schema<Toleration>() {
  using T = Toleration;
  static constexpr Field kRows[] = {
      KOORD_FIELD(key, "key"),
      KOORD_FIELD(operator_, "operator"),
      KOORD_FIELD(value, "value"),
      KOORD_FIELD(effect, "effect"),
      KOORD_FIELD(toleration_seconds, "tolerationSeconds"),
  };
  static const Schema kSchema("Toleration", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<TopologySpreadConstraint>() {
  using T = TopologySpreadConstraint;
  static constexpr Field kRows[] = {
      KOORD_FIELD(max_skew, "maxSkew").required(),
      KOORD_FIELD(topology_key, "topologyKey").required(),
      KOORD_FIELD(when_unsatisfiable, "whenUnsatisfiable").required(),
      KOORD_FIELD(label_selector, "labelSelector"),
      KOORD_FIELD(min_domains, "minDomains"),
      KOORD_FIELD(node_affinity_policy, "nodeAffinityPolicy"),
      KOORD_FIELD(node_taints_policy, "nodeTaintsPolicy"),
      KOORD_FIELD(match_label_keys, "matchLabelKeys"),
  };
  static const Schema kSchema("TopologySpreadConstraint", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ContainerPort>() {
  using T = ContainerPort;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name"),
      KOORD_FIELD(host_port, "hostPort"),
      KOORD_FIELD(container_port, "containerPort").required(),
      KOORD_FIELD(protocol, "protocol"),
      KOORD_FIELD(host_ip, "hostIP"),
  };
  static const Schema kSchema("ContainerPort", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ResourceClaimRef>() {
  using T = ResourceClaimRef;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").required(),
      KOORD_FIELD(request, "request"),
  };
  static const Schema kSchema("ResourceClaimRef", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ResourceRequirements>() {
  using T = ResourceRequirements;
  static constexpr Field kRows[] = {
      KOORD_FIELD(limits, "limits"),
      KOORD_FIELD(requests, "requests"),
      KOORD_FIELD(claims, "claims"),
  };
  static const Schema kSchema("ResourceRequirements", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ContainerResizePolicy>() {
  using T = ContainerResizePolicy;
  static constexpr Field kRows[] = {
      KOORD_FIELD(resource_name, "resourceName").required(),
      KOORD_FIELD(restart_policy, "restartPolicy").required(),
  };
  static const Schema kSchema("ContainerResizePolicy", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<SecurityContext>() {
  using T = SecurityContext;
  static constexpr Field kRows[] = {
      KOORD_FIELD(privileged, "privileged"),
      KOORD_FIELD(run_as_user, "runAsUser"),
  };
  static const Schema kSchema("SecurityContext", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<Container>() {
  using T = Container;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").required(),
      KOORD_FIELD(image, "image"),
      KOORD_FIELD(image_pull_policy, "imagePullPolicy"),
      KOORD_FIELD(restart_policy, "restartPolicy"),
      KOORD_FIELD(ports, "ports").merge_key("containerPort"),
      KOORD_FIELD(resources, "resources"),
      KOORD_FIELD(resize_policy, "resizePolicy"),
      KOORD_FIELD(security_context, "securityContext"),
  };
  static const Schema kSchema("Container", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<PodSchedulingGate>() {
  using T = PodSchedulingGate;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").required(),
  };
  static const Schema kSchema("PodSchedulingGate", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<PodReadinessGate>() {
  using T = PodReadinessGate;
  static constexpr Field kRows[] = {
      KOORD_FIELD(condition_type, "conditionType").required(),
  };
  static const Schema kSchema("PodReadinessGate", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<PodOs>() {
  using T = PodOs;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").required(),
  };
  static const Schema kSchema("PodOs", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<PodResourceClaim>() {
  using T = PodResourceClaim;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").required(),
      KOORD_FIELD(resource_claim_name, "resourceClaimName"),
      KOORD_FIELD(resource_claim_template_name, "resourceClaimTemplateName"),
  };
  static const Schema kSchema("PodResourceClaim", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<WorkloadReference>() {
  using T = WorkloadReference;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").required(),
      KOORD_FIELD(pod_group, "podGroup").required(),
      KOORD_FIELD(pod_group_replica_key, "podGroupReplicaKey"),
  };
  static const Schema kSchema("WorkloadReference", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<PodSpec>() {
  using T = PodSpec;
  static constexpr Field kRows[] = {
      KOORD_FIELD(node_name, "nodeName"),
      KOORD_FIELD(scheduler_name, "schedulerName"),
      KOORD_FIELD(priority_class_name, "priorityClassName"),
      KOORD_FIELD(priority, "priority"),
      KOORD_FIELD(preemption_policy, "preemptionPolicy"),
      KOORD_FIELD(restart_policy, "restartPolicy"),
      KOORD_FIELD(service_account_name, "serviceAccountName"),
      KOORD_FIELD(runtime_class_name, "runtimeClassName"),
      KOORD_FIELD(host_network, "hostNetwork"),
      KOORD_FIELD(host_pid, "hostPID"),
      KOORD_FIELD(host_users, "hostUsers"),
      KOORD_FIELD(termination_grace_period_seconds, "terminationGracePeriodSeconds"),
      KOORD_FIELD(active_deadline_seconds, "activeDeadlineSeconds"),
      KOORD_FIELD(node_selector, "nodeSelector"),
      KOORD_FIELD(affinity, "affinity"),
      KOORD_FIELD(tolerations, "tolerations"),
      KOORD_FIELD(topology_spread_constraints, "topologySpreadConstraints").merge_key("topologyKey"),
      KOORD_FIELD(scheduling_gates, "schedulingGates").merge_key("name"),
      KOORD_FIELD(readiness_gates, "readinessGates"),
      KOORD_FIELD(containers, "containers").required().merge_key("name"),
      KOORD_FIELD(init_containers, "initContainers").merge_key("name"),
      KOORD_FIELD(ephemeral_containers, "ephemeralContainers").merge_key("name"),
      KOORD_FIELD(volumes, "volumes").merge_key("name"),
      KOORD_FIELD(resource_claims, "resourceClaims").merge_key("name"),
      KOORD_FIELD(overhead, "overhead"),
      KOORD_FIELD(resources, "resources"),
      KOORD_FIELD(os, "os"),
      KOORD_FIELD(workload_ref, "workloadRef"),
  };
  static const Schema kSchema("PodSpec", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<PodCondition>() {
  using T = PodCondition;
  static constexpr Field kRows[] = {
      KOORD_FIELD(type, "type").required(),
      KOORD_FIELD(status, "status").required(),
      KOORD_FIELD(observed_generation, "observedGeneration"),
      KOORD_FIELD(last_transition_time, "lastTransitionTime"),
      KOORD_FIELD(reason, "reason"),
      KOORD_FIELD(message, "message"),
  };
  static const Schema kSchema("PodCondition", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ContainerStateWaiting>() {
  using T = ContainerStateWaiting;
  static constexpr Field kRows[] = {
      KOORD_FIELD(reason, "reason"),
      KOORD_FIELD(message, "message"),
  };
  static const Schema kSchema("ContainerStateWaiting", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ContainerStateRunning>() {
  using T = ContainerStateRunning;
  static constexpr Field kRows[] = {
      KOORD_FIELD(started_at, "startedAt"),
  };
  static const Schema kSchema("ContainerStateRunning", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ContainerStateTerminated>() {
  using T = ContainerStateTerminated;
  static constexpr Field kRows[] = {
      KOORD_FIELD(exit_code, "exitCode").required(),
      KOORD_FIELD(signal, "signal"),
      KOORD_FIELD(reason, "reason"),
      KOORD_FIELD(message, "message"),
      KOORD_FIELD(started_at, "startedAt"),
      KOORD_FIELD(finished_at, "finishedAt"),
      KOORD_FIELD(container_id, "containerID"),
  };
  static const Schema kSchema("ContainerStateTerminated", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ContainerState>() {
  using T = ContainerState;
  static constexpr Field kRows[] = {
      KOORD_FIELD(waiting, "waiting"),
      KOORD_FIELD(running, "running"),
      KOORD_FIELD(terminated, "terminated"),
  };
  static const Schema kSchema("ContainerState", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ContainerStatus>() {
  using T = ContainerStatus;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").required(),
      KOORD_FIELD(image, "image").required(),
      KOORD_FIELD(image_id, "imageID").required(),
      KOORD_FIELD(container_id, "containerID"),
      KOORD_FIELD(restart_count, "restartCount").required(),
      KOORD_FIELD(ready, "ready").required(),
      KOORD_FIELD(started, "started"),
      KOORD_FIELD(state, "state"),
      KOORD_FIELD(last_state, "lastState"),
      KOORD_FIELD(allocated_resources, "allocatedResources"),
      KOORD_FIELD(resources, "resources"),
  };
  static const Schema kSchema("ContainerStatus", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<PodIp>() {
  using T = PodIp;
  static constexpr Field kRows[] = {
      KOORD_FIELD(ip, "ip").required(),
  };
  static const Schema kSchema("PodIp", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<PodResourceClaimStatus>() {
  using T = PodResourceClaimStatus;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").required(),
      KOORD_FIELD(resource_claim_name, "resourceClaimName"),
  };
  static const Schema kSchema("PodResourceClaimStatus", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<PodStatus>() {
  using T = PodStatus;
  static constexpr Field kRows[] = {
      KOORD_FIELD(phase, "phase"),
      KOORD_FIELD(observed_generation, "observedGeneration"),
      KOORD_FIELD(conditions, "conditions").merge_key("type"),
      KOORD_FIELD(reason, "reason"),
      KOORD_FIELD(message, "message"),
      KOORD_FIELD(nominated_node_name, "nominatedNodeName"),
      KOORD_FIELD(host_ip, "hostIP"),
      KOORD_FIELD(pod_ip, "podIP"),
      KOORD_FIELD(pod_ips, "podIPs").merge_key("ip"),
      KOORD_FIELD(start_time, "startTime"),
      KOORD_FIELD(qos_class, "qosClass"),
      KOORD_FIELD(init_container_statuses, "initContainerStatuses"),
      KOORD_FIELD(container_statuses, "containerStatuses"),
      KOORD_FIELD(ephemeral_container_statuses, "ephemeralContainerStatuses"),
      KOORD_FIELD(resource_claim_statuses, "resourceClaimStatuses").merge_key("name"),
      KOORD_FIELD(resize, "resize"),
      KOORD_FIELD(allocated_resources, "allocatedResources"),
      KOORD_FIELD(resources, "resources"),
  };
  static const Schema kSchema("PodStatus", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<Pod>() {
  using T = Pod;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(spec, "spec"),
      KOORD_FIELD(status, "status"),
  };
  static const Schema kSchema("Pod", kRows, type_of<T>, &kPod);
  return kSchema;
}

}  // namespace koord::api
