// The plugin RDMADeviceResource: the RDMA cards of a node's Device as its resources.
#pragma once

#include "framework/noderesource/plugin.hpp"

namespace koord::manager {

/// What the healthy cards have together; empty if there is none. `device` may be null.
api::ResourceList rdma_resources(const api::Device* device);

}  // namespace koord::manager
