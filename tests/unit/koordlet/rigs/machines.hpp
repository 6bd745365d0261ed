// Machines of CPUs, cores, sockets and NUMA nodes, without their files.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "koord/host/topology.hpp"

namespace koord::koordlet::testing {

struct CpuRow {
  int cpu, core, socket, node;
};
/// CPUs of a machine; cores and nodes as upstream's tables number them.
inline std::shared_ptr<const host::Topology> machine(const std::vector<CpuRow>& rows) {
  auto topology = std::make_shared<host::Topology>();
  for (const CpuRow& row : rows) {
    topology->cpus.push_back({.cpu = row.cpu, .core = row.core, .socket = row.socket, .node = row.node});
    topology->online.add(row.cpu);
    auto node = std::ranges::find(topology->nodes, row.node, &host::NumaNode::id);
    if (node == topology->nodes.end()) node = topology->nodes.insert(node, {row.node, {}});
    node->cpus.add(row.cpu);
  }
  return topology;
}
/// `cpus` CPUs, two a core, four a socket, `sockets_per_node` sockets a node.
inline std::shared_ptr<const host::Topology> machine(int cpus, int sockets_per_node = 1) {
  std::vector<CpuRow> rows;
  for (int i = 0; i < cpus; ++i) rows.push_back({i, i / 2, i / 4, i / 4 / sockets_per_node});
  return machine(rows);
}

}  // namespace koord::koordlet::testing
