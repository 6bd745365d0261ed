// Carriage: what each transport can have set of a container or sandbox, and when: one table, printed in the
// reference. What a transport cannot carry is the reconciler's, as soon as the group is there.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "framework/hooks/runtime_request.hpp"

namespace koord::koordlet {

/// Who brings a runtime's requests to the hooks, before the runtime acts.
enum class Transport : std::uint8_t {
  hook_server,  // Koordinator's RuntimeHookService: a CRI proxy asks
  nri,          // the runtime itself asks
};
inline constexpr std::size_t kTransports = 2;
std::string_view to_string(Transport transport);  // "hook server", "NRI"

/// Kinds of what hooks answer, in the order of the table.
enum class Cargo : std::uint8_t {
  cpu_shares,
  cpu_quota,
  cpuset_cpus,
  memory_limit,
  oom_score_adj,
  env,
  annotations,
  devices,
  mounts,
  cdi_devices,
  other_knobs,  // of cgroups: cpu.bvt_warp_ns, cpu.idle, cpu.cfs_burst_us, memory.min, ...
  of_pods,      // whatever is a pod's and not a container's
};

/// When a transport can have it set.
enum class Carried : std::uint8_t {
  never,
  at_birth,   // when the container is made
  and_later,  // and when its resources are updated
};

struct CarriageRow {
  Cargo cargo{};
  std::string_view name;
  Carried hook_server{}, nri{};
  bool reconciled = false;  // the reconciler sets it afterwards, too
  std::string_view remark = {};
};
/// In the order of the enum.
std::span<const CarriageRow> carriage_table();
/// Whether the transport can have it set when it is asked at this moment.
bool carries(Transport transport, Cargo cargo, RuntimeMoment moment);

}  // namespace koord::koordlet
