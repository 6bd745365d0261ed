// The schema tables of koord/api/types/scheduling_v1alpha1/device.hpp: Device.
#include "koord/api/types/scheduling_v1alpha1/device.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(DeviceTopology, ROW(socket_id).wire("socketID").required(),
             ROW(node_id).wire("nodeID").required(), ROW(pcie_id).wire("pcieID").required(),
             ROW(bus_id).wire("busID"));
KOORD_SCHEMA(VirtualFunction, ROW(minor).required(), ROW(bus_id).wire("busID"));
KOORD_SCHEMA(VirtualFunctionGroup, ROW(labels), ROW(vfs));
KOORD_SCHEMA(DeviceInfo, ROW(type).doc("gpu, fpga, rdma or another type."),
             ROW(labels).doc("Properties by which devices are selected."),
             ROW(id).doc("Unique name of the device."), ROW(minor).doc("Minor number, from 0."),
             ROW(module_id).wire("moduleID").doc("Physical number."),
             ROW(health).required().default_json("false").doc("Whether the device works."),
             ROW(resources).doc("Resources of the device."),
             ROW(topology).doc("Where the device is attached."),
             ROW(vf_groups).doc("Groups of virtual functions."), ROW(conditions).doc("Current conditions."));
KOORD_SCHEMA(DeviceSpec, ROW(devices));
KOORD_SCHEMA(DeviceAllocationItem, ROW(name), ROW(namespace_), ROW(uuid), ROW(minors));
KOORD_SCHEMA(DeviceAllocation, ROW(type).doc("gpu, fpga, rdma or another type."), ROW(entries));
KOORD_SCHEMA(DeviceStatus, ROW(allocations));
KOORD_OBJECT(Device,
             Kind("scheduling.koordinator.sh/v1alpha1", "Device", "devices")
                 .cluster_scoped()
                 .custom_resource("The devices of a node, reported by its node agent.")
                 .without_status(),
             ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
