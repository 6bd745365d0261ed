// Machines and pods as fragmentation.hpp counts them.
#pragma once

#include <cstdint>
#include <span>

#include "scheduling/plugins/device_share/devices/node_devices.hpp"
#include "scheduling/plugins/device_share/packing/fragmentation.hpp"
#include "scheduling/plugins/device_share/request/demand.hpp"

namespace koord::scheduling::device_share {

/// Its healthy GPUs, of more than PackedRow::kMostGpus the first; of each the less of what is free of core
/// and of memory, `given_back` (what a reservation keeps) included. `cpu` in milli and `memory` in bytes are
/// what the node has free.
PackedRow packed_row(const NodeDevices& node, std::int64_t cpu, std::int64_t memory,
                     std::span<const Given::Device> given_back = {});

/// Of each GPU the more of core and of memory, a whole one at most. Who says memory in bytes alone asks for
/// the part that it is of `gpu_memory`, which is that of the cluster's usual GPU; 0 is not known: a whole
/// one.
PackedRequest packed_request(const DeviceDemand& demand, std::int64_t cpu, std::int64_t memory,
                             std::int64_t gpu_memory);

}  // namespace koord::scheduling::device_share
