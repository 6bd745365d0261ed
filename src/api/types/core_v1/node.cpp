// The schema tables of koord/api/types/core_v1/node.hpp: Node.
#include "koord/api/types/core_v1/node.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr std::string_view kNodeShort[] = {"no"};
constexpr Kind kNode = {.group = "",
                        .version = "v1",
                        .kind = "Node",
                        .plural = "nodes",
                        .singular = "node",
                        .short_names = kNodeShort,
                        .namespaced = false,
                        .has_status = true};

}  // namespace

template <>
const Schema& schema<NodeSelectorRequirement>() {
  using T = NodeSelectorRequirement;
  static constexpr Field kRows[] = {
      KOORD_FIELD(key, "key").required(),
      KOORD_FIELD(operator_, "operator").required(),
      KOORD_FIELD(values, "values"),
  };
  static const Schema kSchema("NodeSelectorRequirement", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeSelectorTerm>() {
  using T = NodeSelectorTerm;
  static constexpr Field kRows[] = {
      KOORD_FIELD(match_expressions, "matchExpressions"),
      KOORD_FIELD(match_fields, "matchFields"),
  };
  static const Schema kSchema("NodeSelectorTerm", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeSelector>() {
  using T = NodeSelector;
  static constexpr Field kRows[] = {
      KOORD_FIELD(node_selector_terms, "nodeSelectorTerms").required(),
  };
  static const Schema kSchema("NodeSelector", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<Taint>() {
  using T = Taint;
  static constexpr Field kRows[] = {
      KOORD_FIELD(key, "key").required(),
      KOORD_FIELD(value, "value"),
      KOORD_FIELD(effect, "effect").required(),
      KOORD_FIELD(time_added, "timeAdded"),
  };
  static const Schema kSchema("Taint", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeSpec>() {
  using T = NodeSpec;
  static constexpr Field kRows[] = {
      KOORD_FIELD(pod_cidr, "podCIDR"),       KOORD_FIELD(pod_cidrs, "podCIDRs").set_list(),
      KOORD_FIELD(provider_id, "providerID"), KOORD_FIELD(unschedulable, "unschedulable"),
      KOORD_FIELD(taints, "taints"),
  };
  static const Schema kSchema("NodeSpec", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeCondition>() {
  using T = NodeCondition;
  static constexpr Field kRows[] = {
      KOORD_FIELD(type, "type").required(),
      KOORD_FIELD(status, "status").required(),
      KOORD_FIELD(last_heartbeat_time, "lastHeartbeatTime"),
      KOORD_FIELD(last_transition_time, "lastTransitionTime"),
      KOORD_FIELD(reason, "reason"),
      KOORD_FIELD(message, "message"),
  };
  static const Schema kSchema("NodeCondition", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeAddress>() {
  using T = NodeAddress;
  static constexpr Field kRows[] = {
      KOORD_FIELD(type, "type").required(),
      KOORD_FIELD(address, "address").required(),
  };
  static const Schema kSchema("NodeAddress", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ContainerImage>() {
  using T = ContainerImage;
  static constexpr Field kRows[] = {
      KOORD_FIELD(names, "names"),
      KOORD_FIELD(size_bytes, "sizeBytes"),
  };
  static const Schema kSchema("ContainerImage", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<DaemonEndpoint>() {
  using T = DaemonEndpoint;
  static constexpr Field kRows[] = {
      KOORD_FIELD(port, "Port").required(),
  };
  static const Schema kSchema("DaemonEndpoint", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeDaemonEndpoints>() {
  using T = NodeDaemonEndpoints;
  static constexpr Field kRows[] = {
      KOORD_FIELD(kubelet_endpoint, "kubeletEndpoint"),
  };
  static const Schema kSchema("NodeDaemonEndpoints", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeSystemInfo>() {
  using T = NodeSystemInfo;
  static constexpr Field kRows[] = {
      KOORD_FIELD(machine_id, "machineID"),
      KOORD_FIELD(system_uuid, "systemUUID"),
      KOORD_FIELD(boot_id, "bootID"),
      KOORD_FIELD(kernel_version, "kernelVersion"),
      KOORD_FIELD(os_image, "osImage"),
      KOORD_FIELD(container_runtime_version, "containerRuntimeVersion"),
      KOORD_FIELD(kubelet_version, "kubeletVersion"),
      KOORD_FIELD(kube_proxy_version, "kubeProxyVersion"),
      KOORD_FIELD(operating_system, "operatingSystem"),
      KOORD_FIELD(architecture, "architecture"),
  };
  static const Schema kSchema("NodeSystemInfo", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<AttachedVolume>() {
  using T = AttachedVolume;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").required(),
      KOORD_FIELD(device_path, "devicePath").required(),
  };
  static const Schema kSchema("AttachedVolume", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeStatus>() {
  using T = NodeStatus;
  static constexpr Field kRows[] = {
      KOORD_FIELD(capacity, "capacity"),
      KOORD_FIELD(allocatable, "allocatable"),
      KOORD_FIELD(phase, "phase"),
      KOORD_FIELD(conditions, "conditions").merge_key("type"),
      KOORD_FIELD(addresses, "addresses").merge_key("type"),
      KOORD_FIELD(daemon_endpoints, "daemonEndpoints"),
      KOORD_FIELD(node_info, "nodeInfo"),
      KOORD_FIELD(images, "images"),
      KOORD_FIELD(volumes_in_use, "volumesInUse"),
      KOORD_FIELD(volumes_attached, "volumesAttached"),
      KOORD_FIELD(declared_features, "declaredFeatures"),
  };
  static const Schema kSchema("NodeStatus", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<Node>() {
  using T = Node;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(spec, "spec"),
      KOORD_FIELD(status, "status"),
  };
  static const Schema kSchema("Node", kRows, type_of<T>, &kNode);
  return kSchema;
}

}  // namespace koord::api
