// RDMA network cards, from sysfs: physical functions, with the virtual ones that they were told to have.
#pragma once

#include "framework/devices/device_reading.hpp"
#include "koord/host/root.hpp"

namespace koord::koordlet {

/// PCI network devices that are no virtual function and have an InfiniBand device mlxN_M, whose M is their
/// minor; healthy while all of its ports are ACTIVE. Others' names are said to be unknown. Blocks for
/// milliseconds.
DeviceReading read_rdma_cards(const host::Root& root);

}  // namespace koord::koordlet
