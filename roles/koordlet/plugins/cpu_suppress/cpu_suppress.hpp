// CPU suppression: what latency-sensitive work, the system and reservations leave of the node's CPUs below a
// threshold is what best-effort work may have, as a quota (cfsQuota) or as a set of CPUs (cpuset).
#pragma once

#include <memory>

#include "framework/qos/plugin.hpp"

namespace koord::koordlet::cpu_suppress {

inline constexpr std::string_view kName = "CPUSuppress";
inline constexpr std::string_view kGate = "BECPUSuppress";
inline constexpr std::string_view kCpuManagerGate = "BECPUManager";

/// Uses the gate BECPUManager, which has to be in the context's table.
Result<std::unique_ptr<Strategy>> make(const PluginContext& context);

}  // namespace koord::koordlet::cpu_suppress
