// Node (v1) and the selectors and taints that pods and nodes meet by.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct NodeSelectorRequirement {
  Symbol key;
  Symbol operator_;  // In, NotIn, Exists, DoesNotExist, Gt, Lt
  List<Symbol> values;
  KOORD_STRUCT(NodeSelectorRequirement);
};

struct NodeSelectorTerm {
  List<NodeSelectorRequirement> match_expressions;
  List<NodeSelectorRequirement> match_fields;
  KOORD_STRUCT(NodeSelectorTerm);
};

/// The terms are alternatives.
struct NodeSelector {
  List<NodeSelectorTerm> node_selector_terms;
  KOORD_STRUCT(NodeSelector);
};

struct Taint {
  Symbol key;
  Symbol value;
  Symbol effect;  // NoSchedule, PreferNoSchedule, NoExecute
  std::optional<Time> time_added;
  KOORD_STRUCT(Taint);
};

struct NodeSpec {
  Symbol pod_cidr;
  List<Symbol> pod_cidrs;
  Symbol provider_id;
  bool unschedulable = false;
  List<Taint> taints;
  KOORD_STRUCT(NodeSpec);
};

struct NodeCondition {
  Symbol type;
  Symbol status;
  Time last_heartbeat_time;
  Time last_transition_time;
  Symbol reason;
  std::string message;
  KOORD_STRUCT(NodeCondition);
};

struct NodeAddress {
  Symbol type;
  std::string address;
  KOORD_STRUCT(NodeAddress);
};

struct ContainerImage {
  List<Symbol> names;
  int64_t size_bytes = 0;
  KOORD_STRUCT(ContainerImage);
};

struct DaemonEndpoint {
  int32_t port = 0;  // the wire name is capitalised: Port
  KOORD_STRUCT(DaemonEndpoint);
};

struct NodeDaemonEndpoints {
  DaemonEndpoint kubelet_endpoint;
  KOORD_STRUCT(NodeDaemonEndpoints);
};

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
  KOORD_STRUCT(NodeSystemInfo);
};

struct AttachedVolume {
  std::string name;
  std::string device_path;
  KOORD_STRUCT(AttachedVolume);
};

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
  KOORD_STRUCT(NodeStatus);
};

struct Node {
  ObjectMeta metadata;
  NodeSpec spec;
  NodeStatus status;
  KOORD_STRUCT(Node);
};

}  // namespace koord::api
