// scheduling.koordinator.sh/v1alpha1: Device, the devices of a node.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct DeviceTopology {
  int32_t socket_id = 0;
  int32_t node_id = 0;  // NUMA node
  std::string pcie_id;
  std::string bus_id;
  KOORD_STRUCT(DeviceTopology);
};

struct VirtualFunction {
  int32_t minor = 0;
  std::string bus_id;
  KOORD_STRUCT(VirtualFunction);
};

struct VirtualFunctionGroup {
  SymbolMap labels;
  std::vector<VirtualFunction> vfs;
  KOORD_STRUCT(VirtualFunctionGroup);
};

struct DeviceInfo {
  Symbol type;  // gpu, fpga, rdma
  SymbolMap labels;
  std::string id;
  std::optional<int32_t> minor;
  std::optional<int32_t> module_id;
  bool health = false;
  ResourceList resources;
  Box<DeviceTopology> topology;
  std::vector<VirtualFunctionGroup> vf_groups;
  std::vector<Condition> conditions;
  KOORD_STRUCT(DeviceInfo);
};

struct DeviceSpec {
  std::vector<DeviceInfo> devices;
  KOORD_STRUCT(DeviceSpec);
};

/// What a pod has of the devices of one type.
struct DeviceAllocationItem {
  std::string name;
  Symbol namespace_;
  std::string uuid;  // the pod's
  std::vector<int32_t> minors;
  KOORD_STRUCT(DeviceAllocationItem);
};

struct DeviceAllocation {
  Symbol type;
  std::vector<DeviceAllocationItem> entries;
  KOORD_STRUCT(DeviceAllocation);
};

struct DeviceStatus {
  std::vector<DeviceAllocation> allocations;
  KOORD_STRUCT(DeviceStatus);
};

/// Named as its node.
struct Device {
  ObjectMeta metadata;
  DeviceSpec spec;
  DeviceStatus status;
  KOORD_STRUCT(Device);
};

}  // namespace koord::api
