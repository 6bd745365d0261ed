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

  friend bool operator==(const Toleration&, const Toleration&) = default;
};
KOORD_API_SCHEMA(Toleration);

struct TopologySpreadConstraint {
  int32_t max_skew = 0;
  Symbol topology_key;
  Symbol when_unsatisfiable;  // DoNotSchedule, ScheduleAnyway
  Box<LabelSelector> label_selector;
  std::optional<int32_t> min_domains;
  Symbol node_affinity_policy;  // Honor (default), Ignore
  Symbol node_taints_policy;    // Honor, Ignore (default)
  List<Symbol> match_label_keys;

  friend bool operator==(const TopologySpreadConstraint&, const TopologySpreadConstraint&) = default;
};
KOORD_API_SCHEMA(TopologySpreadConstraint);

struct ContainerPort {
  Symbol name;
  int32_t host_port = 0;
  int32_t container_port = 0;
  Symbol protocol;  // TCP when empty
  Symbol host_ip;   // all addresses when empty

  friend bool operator==(const ContainerPort&, const ContainerPort&) = default;
};
KOORD_API_SCHEMA(ContainerPort);

struct ResourceClaimRef {
  Symbol name;
  Symbol request;

  friend bool operator==(const ResourceClaimRef&, const ResourceClaimRef&) = default;
};
KOORD_API_SCHEMA(ResourceClaimRef);

struct ResourceRequirements {
  ResourceList limits;
  ResourceList requests;
  List<ResourceClaimRef> claims;

  friend bool operator==(const ResourceRequirements&, const ResourceRequirements&) = default;
};
KOORD_API_SCHEMA(ResourceRequirements);

struct ContainerResizePolicy {
  Symbol resource_name;
  Symbol restart_policy;  // NotRequired, RestartContainer

  friend bool operator==(const ContainerResizePolicy&, const ContainerResizePolicy&) = default;
};
KOORD_API_SCHEMA(ContainerResizePolicy);

struct SecurityContext {
  std::optional<bool> privileged;
  std::optional<int64_t> run_as_user;

  friend bool operator==(const SecurityContext&, const SecurityContext&) = default;
};
KOORD_API_SCHEMA(SecurityContext);

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

  friend bool operator==(const Container&, const Container&) = default;
};
KOORD_API_SCHEMA(Container);

struct PodSchedulingGate {
  Symbol name;

  friend bool operator==(const PodSchedulingGate&, const PodSchedulingGate&) = default;
};
KOORD_API_SCHEMA(PodSchedulingGate);

struct PodReadinessGate {
  Symbol condition_type;

  friend bool operator==(const PodReadinessGate&, const PodReadinessGate&) = default;
};
KOORD_API_SCHEMA(PodReadinessGate);

struct PodOs {
  Symbol name;

  friend bool operator==(const PodOs&, const PodOs&) = default;
};
KOORD_API_SCHEMA(PodOs);

struct PodResourceClaim {
  Symbol name;
  std::string resource_claim_name;
  std::string resource_claim_template_name;

  friend bool operator==(const PodResourceClaim&, const PodResourceClaim&) = default;
};
KOORD_API_SCHEMA(PodResourceClaim);

struct WorkloadReference {
  std::string name;
  std::string pod_group;
  std::string pod_group_replica_key;

  friend bool operator==(const WorkloadReference&, const WorkloadReference&) = default;
};
KOORD_API_SCHEMA(WorkloadReference);

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
  Box<WorkloadReference> workload_ref;

  friend bool operator==(const PodSpec&, const PodSpec&) = default;
};
KOORD_API_SCHEMA(PodSpec);

struct PodCondition {
  Symbol type;
  Symbol status;
  int64_t observed_generation = 0;
  Time last_transition_time;
  Symbol reason;
  Symbol message;  // repeats: many pods wait for the same reason

  friend bool operator==(const PodCondition&, const PodCondition&) = default;
};
KOORD_API_SCHEMA(PodCondition);

struct ContainerStateWaiting {
  Symbol reason;
  std::string message;

  friend bool operator==(const ContainerStateWaiting&, const ContainerStateWaiting&) = default;
};
KOORD_API_SCHEMA(ContainerStateWaiting);

struct ContainerStateRunning {
  Time started_at;

  friend bool operator==(const ContainerStateRunning&, const ContainerStateRunning&) = default;
};
KOORD_API_SCHEMA(ContainerStateRunning);
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

  friend bool operator==(const ContainerStateTerminated&, const ContainerStateTerminated&) = default;
};
KOORD_API_SCHEMA(ContainerStateTerminated);

struct ContainerState {
  Box<ContainerStateWaiting> waiting;
  Maybe<ContainerStateRunning> running;
  Box<ContainerStateTerminated> terminated;

  friend bool operator==(const ContainerState&, const ContainerState&) = default;
};
KOORD_API_SCHEMA(ContainerState);

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

  friend bool operator==(const ContainerStatus&, const ContainerStatus&) = default;
};
KOORD_API_SCHEMA(ContainerStatus);

struct PodIp {
  Symbol ip;

  friend bool operator==(const PodIp&, const PodIp&) = default;
};
KOORD_API_SCHEMA(PodIp);

struct PodResourceClaimStatus {
  Symbol name;
  std::string resource_claim_name;

  friend bool operator==(const PodResourceClaimStatus&, const PodResourceClaimStatus&) = default;
};
KOORD_API_SCHEMA(PodResourceClaimStatus);

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

  friend bool operator==(const PodStatus&, const PodStatus&) = default;
};
KOORD_API_SCHEMA(PodStatus);

struct Pod {
  ObjectMeta metadata;
  PodSpec spec;
  PodStatus status;

  friend bool operator==(const Pod&, const Pod&) = default;
};
KOORD_API_SCHEMA(Pod);

}  // namespace koord::api
