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
  std::vector<NumaMemory> numa_memory;  // ascending; empty where the kernel shows none
};

/// From sysfs and /proc/cpuinfo, without a fork. The error names the file.
Result<NodeFacts> read_node_facts(const host::Root& root);

}  // namespace koord::koordlet
