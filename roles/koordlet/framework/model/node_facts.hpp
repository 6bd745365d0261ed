// NodeFacts: what the machine is made of: its CPUs, its memory nodes. Read at the start and now and then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "koord/host/topology.hpp"

namespace koord::koordlet {

/// What is kept for huge pages, used or not, in bytes.
struct HugePages {
  std::uint64_t two_mib = 0, one_gib = 0;
  std::uint64_t all() const { return two_mib + one_gib; }
};

struct NumaMemory {
  int id = 0;
  std::uint64_t total = 0;  // bytes
  HugePages huge = {};
};

struct NodeFacts {
  host::Topology topology;
  std::string cpu_model, vendor_id;
  bool turbo = false;   // Intel's only: of others nothing is known
  std::string l3_ways;  // resctrl's mask of all ways of the last-level cache; empty: the kernel shows none
  std::vector<NumaMemory> numa_memory;  // ascending; empty where the kernel shows none
  std::uint64_t memory = 0;             // all, in bytes; 0: the kernel does not say
  HugePages huge;                       // of a kernel without NUMA nodes
};

/// From sysfs and /proc/cpuinfo, without a fork. The error names the file. Huge pages are read only if they
/// are asked for (gate HugePageReport); a size that the kernel does not have has none.
Result<NodeFacts> read_node_facts(const host::Root& root, bool huge_pages = false);

/// The files that say how many huge pages there are, of 2 MiB and of 1 GiB, of each of these NUMA nodes; of
/// none: those of a kernel without NUMA nodes. `name`: which of a size's files.
std::vector<std::string> huge_page_files(const host::Root& root, const std::vector<NumaMemory>& nodes,
                                         std::string_view name = "nr_hugepages");
/// What such a file says; the error does not name it.
Result<std::uint64_t> parse_huge_pages(std::string_view text);

}  // namespace koord::koordlet
