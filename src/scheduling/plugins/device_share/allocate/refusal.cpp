// Refusal: see refusal.hpp.
#include "scheduling/plugins/device_share/allocate/refusal.hpp"

#include <array>

namespace koord::scheduling::device_share {

namespace {
constexpr std::array<std::string_view, kDeviceTypes> kInsufficient{
    "Insufficient gpu devices", "Insufficient rdma devices", "Insufficient fpga devices"};
constexpr std::array<std::string_view, kDeviceTypes> kNoFunctions{"Insufficient gpu VirtualFunctions",
                                                                  "Insufficient rdma VirtualFunctions",
                                                                  "Insufficient fpga VirtualFunctions"};
}  // namespace

std::string_view Refusal::text() const {
  switch (why) {
    case Why::nothing: return {};
    case Why::no_devices_of_type:
    case Why::too_few_of_type: return kInsufficient[index(type)];
    case Why::no_virtual_functions_of_type: return kNoFunctions[index(type)];
    case Why::no_matched_template: return "no matched GPU shared resource template";
    case Why::no_partition_table: return "node(s) missing GPU Partition Table";
    case Why::no_partitions_of_size: return "node(s) Unsupported number of GPU requests";
    case Why::too_few_partitions: return "Insufficient Partitioned GPU Devices";
    case Why::no_topology_tree: return "node(s) missing GPU Device Topology Tree";
    case Why::shared_multi: return "node(s) Unsupported Multi-Shared GPU";
    case Why::too_few_scoped: return "Insufficient Topology Scoped GPU Devices";
    case Why::too_few_gpus: return "Insufficient GPU Devices";
    case Why::too_few_on_numa_nodes: return "Insufficient NUMA Scoped Devices";
    case Why::no_primary: return "node(s) Insufficient primary device";
    case Why::not_joint: return "node(s) Device Joint-Allocate rules violation";
  }
  return {};
}

StatusCode Refusal::code() const {
  switch (why) {
    case Why::nothing: return StatusCode::success;
    case Why::no_devices_of_type:
    case Why::no_virtual_functions_of_type:
    case Why::no_matched_template:
    case Why::no_partition_table:
    case Why::no_partitions_of_size:
    case Why::no_topology_tree:
    case Why::shared_multi:
    case Why::too_few_on_numa_nodes: return StatusCode::unresolvable;
    case Why::too_few_of_type:
    case Why::too_few_partitions:
    case Why::too_few_scoped:
    case Why::too_few_gpus:
    case Why::no_primary:
    case Why::not_joint: return StatusCode::unschedulable;
  }
  return StatusCode::unschedulable;
}

}  // namespace koord::scheduling::device_share
