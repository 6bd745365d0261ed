#include "koord/host/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "koord/host/file.hpp"
#include "koord/host/text.hpp"

namespace koord::host {

namespace {

Result<int> read_int(const std::string& path) {
  KOORD_TRY(text, read_file(path));
  int value = 0;
  if (!to_number(trimmed(text), value)) return Error(Code::parse, fmt::format("{}: not a number", path));
  return value;
}

Result<CpuSet> read_cpuset(const std::string& path) {
  KOORD_TRY(text, read_file(path));
  Result<CpuSet> set = CpuSet::parse(text);
  if (!set) return std::move(set).error().context(path);
  return set;
}

// A core is the threads that share it: core_id begins anew in each socket, and on some machines in each die
// or cluster of one. Where no list names the CPU it is socket and core_id. Numbered in order of their first
// CPUs.
class CoreNumbers {
 public:
  Result<int> number(const std::string& cpu_folder, int cpu, int socket) {
    const auto siblings = read_cpuset(fmt::format("{}topology/thread_siblings_list", cpu_folder));
    if (siblings && siblings->contains(cpu)) return of({kByThreads, siblings->cpus().front()});
    KOORD_TRY(core, read_int(fmt::format("{}topology/core_id", cpu_folder)));
    return of({socket, core});
  }

 private:
  static constexpr int kByThreads = -1;  // no socket
  int of(std::pair<int, int> key) {
    return numbers_.emplace(key, static_cast<int>(numbers_.size())).first->second;
  }

  std::map<std::pair<int, int>, int> numbers_;
};

// A cache is known by the CPUs that share it.
class CacheNumbers {
 public:
  int number(const std::string& shared_with) {
    return numbers_.emplace(shared_with, static_cast<int>(numbers_.size())).first->second;
  }

 private:
  std::map<std::string, int> numbers_;
};

struct Caches {
  CacheNumbers l2;
  CacheNumbers l3;
};

// Machines without cache folders (some virtual ones) have everything in cache 0.
void read_caches(const std::string& cpu_folder, Caches& caches, CpuPlace& place) {
  const auto indexes = list_folders(fmt::format("{}cache", cpu_folder));
  if (!indexes) return;
  for (const std::string& index : *indexes) {
    if (!index.starts_with("index")) continue;
    std::string folder = cpu_folder;
    folder.append("cache/").append(index).append("/");
    const auto level = read_int(fmt::format("{}level", folder));
    const auto shared = read_file(fmt::format("{}shared_cpu_list", folder));
    if (!level || !shared) continue;
    const std::string cpus(trimmed(*shared));
    if (*level == 2) place.l1_l2 = caches.l2.number(cpus);
    if (*level == 3) place.l3 = caches.l3.number(cpus);
  }
}

Result<std::vector<NumaNode>> read_nodes(const std::string& folder, const CpuSet& online) {
  std::vector<NumaNode> nodes;
  const auto ids = read_cpuset(fmt::format("{}online", folder));
  if (!ids) {
    if (ids.error().code() != Code::not_found) return ids.error();
  } else {
    CpuSet initiators;
    if (auto generic = read_cpuset(fmt::format("{}has_generic_initiator", folder))) initiators = *generic;
    for (const int id : ids->cpus()) {
      KOORD_TRY(cpus, read_cpuset(fmt::format("{}node{}/cpulist", folder, id)));
      if (!cpus.empty() || !initiators.contains(id)) nodes.push_back({id, cpus & online});
    }
  }
  if (nodes.empty()) nodes.push_back({0, online});  // a kernel without NUMA, or one that names no node
  return nodes;
}

}  // namespace

const CpuPlace* Topology::find(int cpu) const {
  const auto it = std::lower_bound(cpus.begin(), cpus.end(), cpu,
                                   [](const CpuPlace& place, int wanted) { return place.cpu < wanted; });
  return it != cpus.end() && it->cpu == cpu ? &*it : nullptr;
}

CpuSet Topology::siblings(int cpu) const {
  CpuSet set;
  const CpuPlace* const place = find(cpu);
  if (!place) return set;
  for (const CpuPlace& other : cpus)
    if (other.core == place->core) set.add(other.cpu);
  return set;
}

Result<Topology> read_topology(const Root& root) {
  const std::string cpu_root = fmt::format("{}devices/system/cpu/", root.sys);
  Topology topology;
  KOORD_TRY(online, read_cpuset(fmt::format("{}online", cpu_root)));
  topology.online = online;
  KOORD_TRY(nodes, read_nodes(fmt::format("{}devices/system/node/", root.sys), online));
  topology.nodes = std::move(nodes);

  CoreNumbers cores;
  Caches caches;
  for (const int cpu : online.cpus()) {
    const std::string folder = fmt::format("{}cpu{}/", cpu_root, cpu);
    KOORD_TRY(socket, read_int(fmt::format("{}topology/physical_package_id", folder)));
    CpuPlace place;
    place.cpu = cpu;
    place.socket = std::max(socket, 0);  // -1: the platform does not say
    KOORD_TRY(core, cores.number(folder, cpu, place.socket));
    place.core = core;
    place.node = topology.nodes.front().id;
    for (const NumaNode& node : topology.nodes)
      if (node.cpus.contains(cpu)) place.node = node.id;
    read_caches(folder, caches, place);
    topology.cpus.push_back(place);
  }
  if (topology.cpus.empty()) return Error(Code::parse, fmt::format("{}online: no CPU is online", cpu_root));

  if (const auto active = read_int(fmt::format("{}smt/active", cpu_root))) {
    topology.smt_active = *active != 0;
  } else {
    for (const CpuPlace& place : topology.cpus)
      topology.smt_active |= topology.siblings(place.cpu).size() > 1;
  }
  return topology;
}

}  // namespace koord::host
