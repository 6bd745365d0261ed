// Machines for the tests of whole CPUs: sockets x memory nodes of each x cores of each x threads of each.
#pragma once

#include "scheduling/plugins/node_numa_resource/cpu_topology.hpp"

namespace koord::scheduling::test {

struct CpuMachine {
  int sockets = 1, zones = 1, cores = 1, threads = 1;
};

/// Threads of a core have numbers one after the other; `apart`: as Linux counts, all first threads come
/// first.
inline api::CpuTopology reported_cpus(const CpuMachine& machine, bool apart = false) {
  api::CpuTopology reported;
  const int cores = machine.sockets * machine.zones * machine.cores;
  for (int core = 0; core < cores; ++core)
    for (int thread = 0; thread < machine.threads; ++thread) {
      const int zone = core / machine.cores;
      reported.detail.push_back({.id = apart ? thread * cores + core : core * machine.threads + thread,
                                 .core = core,
                                 .socket = zone / machine.zones,
                                 .node = zone});
    }
  return reported;
}

inline node_numa_resource::CpuTopology cpu_topology(const CpuMachine& machine, bool apart = false) {
  return node_numa_resource::CpuTopology(reported_cpus(machine, apart));
}

}  // namespace koord::scheduling::test
