// HugeUse: what of its huge pages a node uses.
#pragma once

#include <vector>

#include "framework/model/node_facts.hpp"

namespace koord::koordlet {

/// In a tick's view while the gate HugePageReport is on and all of the files could be read.
struct HugeUse {
  struct Numa {
    int id = 0;
    HugePages used = {};
  };
  HugePages node;          // all together
  std::vector<Numa> numa;  // ascending; empty for a kernel without NUMA nodes
};

}  // namespace koord::koordlet
