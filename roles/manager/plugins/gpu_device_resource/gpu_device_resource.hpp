// The plugin GPUDeviceResource: the GPUs of a node's Device as its resources and labels.
#pragma once

#include "framework/noderesource/plugin.hpp"

namespace koord::manager {

/// What the healthy GPUs have together; empty if there is none. `device` may be null. Of GPUs that are
/// NVIDIA's (or nobody's) koordinator.sh/gpu is the sum of gpu-core, and with `share` gpu.shared is a hundred
/// for each.
api::ResourceList gpu_resources(const api::Device* device, bool share);

/// Copies vendor, model and driver of the GPUs from the Device's labels, as far as it has them and has GPUs.
void set_gpu_labels(api::Node& node, const api::Device& device);

}  // namespace koord::manager
