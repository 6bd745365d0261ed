// The machine's processors and memory nodes, from sysfs: no lscpu, no fork.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/host/cpuset.hpp"
#include "koord/host/root.hpp"

namespace koord::host {

/// One online logical CPU, as `lscpu -e=CPU,NODE,SOCKET,CORE,CACHE` numbers it.
struct CpuPlace {
  int cpu = 0;
  int core = 0;  // unique in the machine: the same for the threads that share one, whatever their core_id
  int socket = 0;
  int node = 0;
  int l1_l2 = 0;  // the number of the cache that is shared closest to the core
  int l3 = 0;     // the number of the last-level cache, 0 where there is none
};

struct NumaNode {
  int id = 0;
  CpuSet cpus;
};

struct Topology {
  std::vector<CpuPlace> cpus;   // ascending by CPU number
  std::vector<NumaNode> nodes;  // ascending, with gaps, some without CPUs; a machine without NUMA has node 0
  CpuSet online;
  bool smt_active = false;

  const CpuPlace* find(int cpu) const;
  /// All CPUs of the core on which `cpu` is.
  CpuSet siblings(int cpu) const;
};

/// Reads devices/system/cpu and devices/system/node. CPUs that are offline are left out, and nodes
/// of devices (has_generic_initiator) that have no CPU. Code::parse names the file that cannot be read.
Result<Topology> read_topology(const Root& root);

}  // namespace koord::host
