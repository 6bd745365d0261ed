// Shared pools: see shared_pools.hpp.
#include "framework/model/shared_pools.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "framework/model/first_cpus.hpp"

namespace koord::koordlet {

namespace {

constexpr int kFewestCpus = 2;  // CPU suppression's least

std::vector<SharedPool> by_node(const host::Topology& topology, const host::CpuSet& cpus,
                                const host::CpuSet& kept) {
  std::vector<SharedPool> pools;
  for (const host::CpuPlace& place : topology.cpus) {
    if (!cpus.contains(place.cpu)) continue;
    auto pool = std::ranges::find(pools, place.node, &SharedPool::node);
    if (pool == pools.end()) pool = pools.insert(pool, {place.socket, place.node, {}});
    if (!kept.contains(place.cpu)) pool->cpus.add(place.cpu);
  }
  std::ranges::sort(pools, {}, [](const SharedPool& pool) { return std::pair(pool.socket, pool.node); });
  return pools;
}

}  // namespace

std::vector<KubeletAllocation> kubelet_allocations(const Inventory& inventory) {
  std::vector<KubeletAllocation> all;
  for (const KubeletGrant& grant : inventory.own_cpus.grants) {
    const auto at = std::ranges::lower_bound(inventory.all_pods, grant.uid, {},
                                             [](const auto& pod) { return std::string_view(pod->uid); });
    const PodInfo* pod = at != inventory.all_pods.end() && (*at)->uid == grant.uid ? at->get() : nullptr;
    if (pod != nullptr && (pod->qos == Qos::ls || pod->qos == Qos::be || pod->cpus)) continue;
    all.push_back({pod, &grant});
  }
  return all;
}

host::CpuSet reserved_cpus(const host::Topology& topology, const NodeInfo& node) {
  if (!node.reserved_cpus.empty()) return node.reserved_cpus;
  const int count = static_cast<int>((node.reserved_milli_cpu + 999) / 1000);
  return first_cpus(topology, topology.online, count).value_or(host::CpuSet());
}

SharedPools shared_pools(const host::Topology& topology, const Inventory& inventory) {
  host::CpuSet be = topology.online;
  for (const KubeletAllocation& one : kubelet_allocations(inventory)) be = be - one.grant->cpus;
  host::CpuSet ls = be;
  for (const auto& pod : inventory.all_pods) {
    if (!pod->cpus) continue;
    ls = ls - *pod->cpus;
    if (pod->qos == Qos::lse) be = be - *pod->cpus;
  }
  const host::CpuSet kept = reserved_cpus(topology, inventory.node) | inventory.node.system_qos_cpus;
  return {by_node(topology, ls, kept), by_node(topology, be, kept)};
}

BestEffortCpus best_effort_cpus(const host::Topology& topology, const Inventory& inventory) {
  const OwnCpus& own = inventory.own_cpus;
  const auto without_kubelets = [&own](const host::CpuSet& cpus) {
    const host::CpuSet left = cpus - own.kubelet;
    return own.kubelet_shared ? left & *own.kubelet_shared : left;
  };
  BestEffortCpus may;
  may.known = inventory.pods_known && !own.stale;
  const host::CpuSet all = topology.online - own.lse - inventory.node.system_qos_cpus;
  may.folders = all - reserved_cpus(topology, inventory.node);
  // A number of CPUs that names none gives way, where nothing would be left.
  if (inventory.node.reserved_cpus.empty() && without_kubelets(may.folders).size() < kFewestCpus)
    may.folders = all;
  may.cpus = without_kubelets(may.folders);
  return may;
}

}  // namespace koord::koordlet
