// Pod (v1): what scheduling, quality of service and the node agent read of it.
#pragma once

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod_affinity.hpp"
#include "koord/api/types/core_v1/volume.hpp"
#include "koord/api/values/int_or_string.hpp"

namespace koord::api {

struct Toleration {
  Symbol key;
  Symbol operator_;  // Equal (also when empty), Exists, Lt, Gt
  Symbol value;
  Symbol effect;
  Maybe<int64_t> toleration_seconds;
  KOORD_STRUCT(Toleration);
};

struct TopologySpreadConstraint {
  int32_t max_skew = 0;
  Symbol topology_key;
  Symbol when_unsatisfiable;  // DoNotSchedule, ScheduleAnyway
  Box<LabelSelector> label_selector;
  std::optional<int32_t> min_domains;
  Symbol node_affinity_policy;  // Honor (default), Ignore
  Symbol node_taints_policy;    // Honor, Ignore (default)
  List<Symbol> match_label_keys;
  KOORD_STRUCT(TopologySpreadConstraint);
};

struct ContainerPort {
  Symbol name;
  int32_t host_port = 0;
  int32_t container_port = 0;
  Symbol protocol;  // TCP when empty
  Symbol host_ip;   // all addresses when empty
  KOORD_STRUCT(ContainerPort);
};

struct ResourceClaimRef {
  Symbol name;
  Symbol request;
  KOORD_STRUCT(ResourceClaimRef);
};

struct ResourceRequirements {
  ResourceList limits;
  ResourceList requests;
  List<ResourceClaimRef> claims;
  KOORD_STRUCT(ResourceRequirements);
};

struct ContainerResizePolicy {
  Symbol resource_name;
  Symbol restart_policy;  // NotRequired, RestartContainer
  KOORD_STRUCT(ContainerResizePolicy);
};

struct SecurityContext {
  std::optional<bool> privileged;
  std::optional<int64_t> run_as_user;
  KOORD_STRUCT(SecurityContext);
};

/// Containers, init containers and ephemeral containers.
struct Container {
  Symbol name;
  Symbol image;
  Symbol image_pull_policy;
  Symbol restart_policy;  // Always: an init container that is a sidecar
  List<ContainerPort> ports;
  ResourceRequirements resources;
  List<ContainerResizePolicy> resize_policy;
  Box<SecurityContext> security_context;
  KOORD_STRUCT(Container);
};

struct PodSchedulingGate {
  Symbol name;
  KOORD_STRUCT(PodSchedulingGate);
};

struct PodReadinessGate {
  Symbol condition_type;
  KOORD_STRUCT(PodReadinessGate);
};

struct PodOs {
  Symbol name;
  KOORD_STRUCT(PodOs);
};

struct PodResourceClaim {
  Symbol name;
  std::string resource_claim_name;
  std::string resource_claim_template_name;
  KOORD_STRUCT(PodResourceClaim);
};

struct WorkloadReference {
  std::string name;
  std::string pod_group;
  std::string pod_group_replica_key;
  KOORD_STRUCT(WorkloadReference);
};

/// In the place of a WorkloadReference from Kubernetes 1.36 on.
struct PodSchedulingGroup {
  std::string pod_group_name;
  KOORD_STRUCT(PodSchedulingGroup);
};

struct PodSpec {
  Symbol node_name;
  Symbol scheduler_name;
  Symbol priority_class_name;
  std::optional<int32_t> priority;
  Symbol preemption_policy;  // PreemptLowerPriority when empty, Never
  Symbol restart_policy;     // Always, OnFailure, Never
  Symbol service_account_name;
  Symbol runtime_class_name;
  bool host_network = false;
  bool host_pid = false;
  std::optional<bool> host_users;
  Maybe<int64_t> termination_grace_period_seconds;
  Maybe<int64_t> active_deadline_seconds;
  SymbolMap node_selector;
  Box<Affinity> affinity;
  List<Toleration> tolerations;
  List<TopologySpreadConstraint> topology_spread_constraints;
  List<PodSchedulingGate> scheduling_gates;
  List<PodReadinessGate> readiness_gates;
  List<Container> containers;
  List<Container> init_containers;
  List<Container> ephemeral_containers;
  List<Volume> volumes;
  List<PodResourceClaim> resource_claims;
  ResourceList overhead;
  Box<ResourceRequirements> resources;  // of the whole pod
  Box<PodOs> os;
  Box<WorkloadReference> workload_ref;       // cannot be changed
  Box<PodSchedulingGroup> scheduling_group;  // nor this
  KOORD_STRUCT(PodSpec);
};

struct PodCondition {
  Symbol type;
  Symbol status;
  int64_t observed_generation = 0;
  Time last_transition_time;
  Symbol reason;
  Symbol message;  // repeats: many pods wait for the same reason
  KOORD_STRUCT(PodCondition);
};

struct ContainerStateWaiting {
  Symbol reason;
  std::string message;
  KOORD_STRUCT(ContainerStateWaiting);
};

struct ContainerStateRunning {
  Time started_at;
  KOORD_STRUCT(ContainerStateRunning);
};
template <>
struct Absent<ContainerStateRunning> {
  static constexpr ContainerStateRunning value() { return {Absent<Time>::value()}; }
};

struct ContainerStateTerminated {
  int32_t exit_code = 0;
  int32_t signal = 0;
  Symbol reason;
  std::string message;
  Time started_at;
  Time finished_at;
  std::string container_id;
  KOORD_STRUCT(ContainerStateTerminated);
};

struct ContainerState {
  Box<ContainerStateWaiting> waiting;
  Maybe<ContainerStateRunning> running;
  Box<ContainerStateTerminated> terminated;
  KOORD_STRUCT(ContainerState);
};

struct ContainerStatus {
  Symbol name;
  Symbol image;
  Symbol image_id;
  std::string container_id;  // runtime://ID
  int32_t restart_count = 0;
  bool ready = false;
  std::optional<bool> started;
  ContainerState state;
  ContainerState last_state;
  ResourceList allocated_resources;
  Box<ResourceRequirements> resources;
  KOORD_STRUCT(ContainerStatus);
};

struct PodIp {
  Symbol ip;
  KOORD_STRUCT(PodIp);
};

struct PodResourceClaimStatus {
  Symbol name;
  std::string resource_claim_name;
  KOORD_STRUCT(PodResourceClaimStatus);
};

struct PodStatus {
  Symbol phase;  // Pending, Running, Succeeded, Failed, Unknown
  int64_t observed_generation = 0;
  List<PodCondition> conditions;
  Symbol reason;
  Symbol message;
  Symbol nominated_node_name;
  Symbol host_ip;
  Symbol pod_ip;
  List<PodIp> pod_ips;
  Maybe<Time> start_time;
  Symbol qos_class;  // Guaranteed, Burstable, BestEffort
  List<ContainerStatus> init_container_statuses;
  List<ContainerStatus> container_statuses;
  List<ContainerStatus> ephemeral_container_statuses;
  List<PodResourceClaimStatus> resource_claim_statuses;
  Symbol resize;
  ResourceList allocated_resources;     // of the whole pod
  Box<ResourceRequirements> resources;  // of the whole pod
  KOORD_STRUCT(PodStatus);
};

struct Pod {
  ObjectMeta metadata;
  PodSpec spec;
  PodStatus status;
  KOORD_STRUCT(Pod);
};

}  // namespace koord::api
