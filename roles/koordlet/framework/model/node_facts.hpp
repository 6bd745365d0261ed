// NodeFacts: what the machine is made of: its CPUs, its memory nodes. Read at the start and now and then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "koord/host/topology.hpp"

namespace koord::koordlet {

struct NumaMemory {
  int id = 0;
  std::uint64_t total = 0;  // bytes
};

struct NodeFacts {
  host::Topology topology;
  std::string cpu_model, vendor_id;
  bool turbo = false;   // Intel's only: of others nothing is known
  std::string l3_ways;  // resctrl's mask of all ways of the last-level cache; empty: the kernel shows none
  std::vector<NumaMemory> numa_memory;  // ascending; empty where the kernel shows none
  std::uint64_t memory = 0;             // all, in bytes; 0: the kernel does not say
};

/// From sysfs and /proc/cpuinfo, without a fork. The error names the file.
Result<NodeFacts> read_node_facts(const host::Root& root);

}  // namespace koord::koordlet
