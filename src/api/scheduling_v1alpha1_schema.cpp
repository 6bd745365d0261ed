// The schema tables of koord/api/scheduling_v1alpha1.hpp: the devices of a node.
#include "koord/api/scheduling_v1alpha1.hpp"

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
      KOORD_FIELD(type, "type"),
      KOORD_FIELD(labels, "labels"),
      KOORD_FIELD(id, "id"),
      KOORD_FIELD(minor, "minor"),
      KOORD_FIELD(module_id, "moduleID"),
      KOORD_FIELD(health, "health").required().default_json("false"),
      KOORD_FIELD(resources, "resources"),
      KOORD_FIELD(topology, "topology"),
      KOORD_FIELD(vf_groups, "vfGroups"),
      KOORD_FIELD(conditions, "conditions"),
  };
  static const Schema kSchema("DeviceInfo", kRows, type_of<T>);
  return kSchema;
}

}  // namespace koord::api
