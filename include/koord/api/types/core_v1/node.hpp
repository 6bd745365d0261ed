// Node (v1) and the selectors and taints that pods and nodes meet by.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct NodeSelectorRequirement {
  Symbol key;
  Symbol operator_;  // In, NotIn, Exists, DoesNotExist, Gt, Lt
  List<Symbol> values;

  friend bool operator==(const NodeSelectorRequirement&, const NodeSelectorRequirement&) = default;
};
KOORD_API_SCHEMA(NodeSelectorRequirement);

struct NodeSelectorTerm {
  List<NodeSelectorRequirement> match_expressions;
  List<NodeSelectorRequirement> match_fields;

  friend bool operator==(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};
KOORD_API_SCHEMA(NodeSelectorTerm);

/// The terms are alternatives.
struct NodeSelector {
  List<NodeSelectorTerm> node_selector_terms;

  friend bool operator==(const NodeSelector&, const NodeSelector&) = default;
};
KOORD_API_SCHEMA(NodeSelector);

struct Taint {
  Symbol key;
  Symbol value;
  Symbol effect;  // NoSchedule, PreferNoSchedule, NoExecute
  std::optional<Time> time_added;

  friend bool operator==(const Taint&, const Taint&) = default;
};
KOORD_API_SCHEMA(Taint);

struct NodeSpec {
  Symbol pod_cidr;
  List<Symbol> pod_cidrs;
  Symbol provider_id;
  bool unschedulable = false;
  List<Taint> taints;

  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};
KOORD_API_SCHEMA(NodeSpec);

struct NodeCondition {
  Symbol type;
  Symbol status;
  Time last_heartbeat_time;
  Time last_transition_time;
  Symbol reason;
  std::string message;

  friend bool operator==(const NodeCondition&, const NodeCondition&) = default;
};
KOORD_API_SCHEMA(NodeCondition);

struct NodeAddress {
  Symbol type;
  std::string address;

  friend bool operator==(const NodeAddress&, const NodeAddress&) = default;
};
KOORD_API_SCHEMA(NodeAddress);

struct ContainerImage {
  List<Symbol> names;
  int64_t size_bytes = 0;

  friend bool operator==(const ContainerImage&, const ContainerImage&) = default;
};
KOORD_API_SCHEMA(ContainerImage);

struct DaemonEndpoint {
  int32_t port = 0;  // the wire name is capitalised: Port

  friend bool operator==(const DaemonEndpoint&, const DaemonEndpoint&) = default;
};
KOORD_API_SCHEMA(DaemonEndpoint);

struct NodeDaemonEndpoints {
  DaemonEndpoint kubelet_endpoint;

  friend bool operator==(const NodeDaemonEndpoints&, const NodeDaemonEndpoints&) = default;
};
KOORD_API_SCHEMA(NodeDaemonEndpoints);

struct NodeSystemInfo {
  std::string machine_id;
  std::string system_uuid;
  std::string boot_id;
  Symbol kernel_version;
  Symbol os_image;
  Symbol container_runtime_version;
  Symbol kubelet_version;
  Symbol kube_proxy_version;
  Symbol operating_system;
  Symbol architecture;

  friend bool operator==(const NodeSystemInfo&, const NodeSystemInfo&) = default;
};
KOORD_API_SCHEMA(NodeSystemInfo);

struct AttachedVolume {
  std::string name;
  std::string device_path;

  friend bool operator==(const AttachedVolume&, const AttachedVolume&) = default;
};
KOORD_API_SCHEMA(AttachedVolume);

struct NodeStatus {
  ResourceList capacity;
  ResourceList allocatable;
  Symbol phase;
  List<NodeCondition> conditions;
  List<NodeAddress> addresses;
  NodeDaemonEndpoints daemon_endpoints;
  NodeSystemInfo node_info;
  List<ContainerImage> images;
  List<std::string> volumes_in_use;
  List<AttachedVolume> volumes_attached;
  List<Symbol> declared_features;

  friend bool operator==(const NodeStatus&, const NodeStatus&) = default;
};
KOORD_API_SCHEMA(NodeStatus);

struct Node {
  ObjectMeta metadata;
  NodeSpec spec;
  NodeStatus status;

  friend bool operator==(const Node&, const Node&) = default;
};
KOORD_API_SCHEMA(Node);

}  // namespace koord::api
