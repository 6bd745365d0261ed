// The CPUs that the kubelet's CPU manager takes first: what it keeps for the system, and what a reservation
// that only counts them stands for.
#pragma once

#include <optional>

#include "koord/host/topology.hpp"

namespace koord::koordlet {

/// `count` CPUs of `free`: whole sockets, then whole NUMA nodes, then whole cores, then single threads, each
/// time from where the fewest are free. Nothing, if there are not so many; none for a count of 0 or less.
std::optional<host::CpuSet> first_cpus(const host::Topology& topology, const host::CpuSet& free, int count);

}  // namespace koord::koordlet
