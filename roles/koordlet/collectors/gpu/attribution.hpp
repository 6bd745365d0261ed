// Whose processes use the GPUs: by their cgroups.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "framework/model/inventory.hpp"
#include "framework/tick/gpu_use.hpp"
#include "koord/host/nvml.hpp"

namespace koord::koordlet {

/// What /proc/PID/cgroup says; empty: the process has gone.
using CgroupsOf = std::function<std::string(pid_t pid)>;

/// A process is its container's, or its pod's, by the group that it is in or below; where the file is seen
/// from within another cgroup namespace, by the container's id in its path. Who is nobody's counts for the
/// node alone. A card with more processes than the driver's answer has room for is left out.
GpuUse attribute(const host::GpuAnswer& answer, const Inventory& inventory, const CgroupsOf& cgroups);

}  // namespace koord::koordlet
