// The devices that the scheduler gave to a pod, as the kubelet's pod resources name devices.
#pragma once

#include <vector>

#include "framework/model/inventory.hpp"
#include "koord/rpc/pod_resources.hpp"

namespace koord::koordlet {

/// By resource: GPUs by their ids as nvidia.com/gpu, RDMA devices as koordinator.sh/rdma; where virtual
/// functions were given, by their bus ids. None of a pod whose annotation cannot be read, nor of other types.
std::vector<rpc::pod_resources::Devices> given_devices(const PodInfo& pod);
/// The same of the pod of that name, as the inventory has it.
std::vector<rpc::pod_resources::Devices> given_devices(const Inventory& inventory, std::string_view ns,
                                                       std::string_view name);

}  // namespace koord::koordlet
