// The schema tables of koord/api/types/scheduling_v1alpha1/device.hpp: the devices of a node.
#include "koord/api/types/scheduling_v1alpha1/device.hpp"

#include <cstddef>

namespace koord::api {

template <>
const Schema& schema<DeviceTopology>() {
  using T = DeviceTopology;
  static constexpr Field kRows[] = {
      KOORD_FIELD(socket_id, "socketID").required(),
      KOORD_FIELD(node_id, "nodeID").required(),
      KOORD_FIELD(pcie_id, "pcieID").required(),
      KOORD_FIELD(bus_id, "busID"),
  };
  static const Schema kSchema("DeviceTopology", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<VirtualFunction>() {
  using T = VirtualFunction;
  static constexpr Field kRows[] = {
      KOORD_FIELD(minor, "minor").required(),
      KOORD_FIELD(bus_id, "busID"),
  };
  static const Schema kSchema("VirtualFunction", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<VirtualFunctionGroup>() {
  using T = VirtualFunctionGroup;
  static constexpr Field kRows[] = {
      KOORD_FIELD(labels, "labels"),
      KOORD_FIELD(vfs, "vfs"),
  };
  static const Schema kSchema("VirtualFunctionGroup", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<DeviceInfo>() {
  using T = DeviceInfo;
  static constexpr Field kRows[] = {
      KOORD_FIELD(type, "type").doc("gpu, fpga, rdma or another type."),
      KOORD_FIELD(labels, "labels").doc("Properties by which devices are selected."),
      KOORD_FIELD(id, "id").doc("Unique name of the device."),
      KOORD_FIELD(minor, "minor").doc("Minor number, from 0."),
      KOORD_FIELD(module_id, "moduleID").doc("Physical number."),
      KOORD_FIELD(health, "health").required().default_json("false").doc("Whether the device works."),
      KOORD_FIELD(resources, "resources").doc("Resources of the device."),
      KOORD_FIELD(topology, "topology").doc("Where the device is attached."),
      KOORD_FIELD(vf_groups, "vfGroups").doc("Groups of virtual functions."),
      KOORD_FIELD(conditions, "conditions").doc("Current conditions."),
  };
  static const Schema kSchema("DeviceInfo", kRows, type_of<T>);
  return kSchema;
}

}  // namespace koord::api
