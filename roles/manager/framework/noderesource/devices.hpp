// What a node's Device says of it: the plugins GPUDeviceResource and RDMADeviceResource.
#pragma once

#include <span>
#include <string_view>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"

namespace koord::manager {

/// The resources of a node that follow from its devices of a type.
std::span<const std::string_view> gpu_resource_names();
std::span<const std::string_view> rdma_resource_names();
/// The labels of a node that say what its GPUs are.
std::span<const std::string_view> gpu_label_names();

/// What the healthy devices of that type have together; empty if there is none. `device` may be null. Of GPUs
/// that are NVIDIA's (or nobody's) koordinator.sh/gpu is the sum of gpu-core, and with `share` gpu.shared is
/// a hundred for each.
api::ResourceList gpu_resources(const api::Device* device, bool share);
api::ResourceList rdma_resources(const api::Device* device);

/// Writes them into capacity and allocatable. None at all: each of `names` goes. Otherwise one that the
/// devices do not have stays as it is.
void set_devices(api::Node& node, std::span<const std::string_view> names, const api::ResourceList& amounts);

/// Copies vendor, model and driver of the GPUs from the Device's labels, as far as it has them and has GPUs.
void set_gpu_labels(api::Node& node, const api::Device& device);

}  // namespace koord::manager
