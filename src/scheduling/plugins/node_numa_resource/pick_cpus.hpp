// pick_cpus: which CPUs a pod gets, of those that are free.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "scheduling/plugins/node_numa_resource/cpu_topology.hpp"

namespace koord::scheduling::node_numa_resource {

/// How CPUs lie on cores.
enum class BindPolicy : std::uint8_t {
  none,
  full_pcpus,       // whole cores
  spread_by_pcpus,  // one of each core
};
/// FullPCPUs, SpreadByPCPUs; everything else is none.
BindPolicy parse_bind_policy(std::string_view text);
std::string_view to_string(BindPolicy policy);  // "" for none

/// With whom of the same kind a pod's CPUs share nothing, if that can be had.
enum class Exclusive : std::uint8_t { none, pcpu_level, numa_node_level };
/// PCPULevel, NUMANodeLevel; everything else is none.
Exclusive parse_exclusive(std::string_view text);
std::string_view to_string(Exclusive policy);  // "" for none

/// Which memory node is filled first.
enum class ZoneStrategy : std::uint8_t { least_allocated, most_allocated };

struct CpuRequest {
  int count = 0;
  BindPolicy bind = BindPolicy::none;  // none: as spread_by_pcpus
  Exclusive exclusive = Exclusive::none;
  ZoneStrategy strategy = ZoneStrategy::least_allocated;
};

/// What is there to choose from. What it refers to outlives the choice.
struct CpuChoice {
  const CpuTopology& topology;
  CpuSet available;  // of the topology
  /// Taken first.
  CpuSet preferred = {};
  /// CPUs of pods that want to be exclusive at that level.
  CpuSet alone_on_core = {}, alone_on_zone = {};
  /// How many pods may have a CPU; beyond one, those that fewer have come first.
  int max_refs = 1;
  std::span<const std::uint16_t> refs = {};  // by CPU; none beyond its end
};

/// Koordinator's choice. Follows from what it is given alone. Absent: there are too few. A few microseconds
/// for 256 CPUs.
std::optional<CpuSet> pick_cpus(const CpuChoice& from, const CpuRequest& request);

/// Of `available` those with which a required policy can be kept: of whole free cores, or one of each core.
CpuSet usable_cpus(const CpuTopology& topology, const CpuSet& available, BindPolicy required);
/// Whether CPUs lie as the policy says.
bool satisfies(const CpuTopology& topology, const CpuSet& cpus, BindPolicy required);

}  // namespace koord::scheduling::node_numa_resource
