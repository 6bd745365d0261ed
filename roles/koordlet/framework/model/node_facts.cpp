// Reading what the machine is made of.
#include "framework/model/node_facts.hpp"

#include <fmt/format.h>

#include "koord/host/file.hpp"
#include "koord/host/procfs.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

Result<NodeFacts> read_node_facts(const host::Root& root) {
  NodeFacts facts;
  KOORD_TRY(topology, host::read_topology(root));
  facts.topology = std::move(topology);
  KOORD_TRY(text, read_file(fmt::format("{}cpuinfo", root.proc)));
  KOORD_TRY(cpuinfo, host::parse_cpuinfo(text));
  facts.cpu_model = std::move(cpuinfo.model_name);
  facts.vendor_id = std::move(cpuinfo.vendor_id);
  if (const auto off = read_file(fmt::format("{}devices/system/cpu/intel_pstate/no_turbo", root.sys)))
    facts.turbo = host::trimmed(*off) == "0";
  if (const auto ways = read_file(fmt::format("{}resctrl/info/L3/cbm_mask", root.sys_fs)))
    facts.l3_ways = host::trimmed(*ways);
  if (const auto meminfo = read_file(fmt::format("{}meminfo", root.proc)))
    if (const auto info = host::parse_meminfo(*meminfo)) facts.memory = info->total;
  for (const host::NumaNode& node : facts.topology.nodes) {
    const std::string path = fmt::format("{}devices/system/node/node{}/meminfo", root.sys, node.id);
    const auto meminfo = read_file(path);
    if (!meminfo) {
      if (meminfo.error().code() == Code::not_found) continue;  // a kernel without NUMA
      return meminfo.error();
    }
    auto info = host::parse_meminfo(*meminfo);
    if (!info) return std::move(info).error().context(path);
    facts.numa_memory.push_back({node.id, info->total});
  }
  return facts;
}

}  // namespace koord::koordlet
