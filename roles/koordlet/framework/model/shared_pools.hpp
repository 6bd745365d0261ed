// Shared pools: the CPUs that nobody has for himself, by NUMA node. What NodeResourceTopology tells the
// scheduler, and what the containers of latency-sensitive pods without CPUs of their own run on.
#pragma once

#include <vector>

#include "framework/model/inventory.hpp"
#include "koord/host/topology.hpp"

namespace koord::koordlet {

struct SharedPool {
  int socket = 0, node = 0;
  host::CpuSet cpus;  // may be empty: reserved, all of them
  friend bool operator==(const SharedPool&, const SharedPool&) = default;
};

/// Ascending by socket and node; a NUMA node whose CPUs are all a pod's has no pool.
struct SharedPools {
  std::vector<SharedPool> ls;  // without what LSE and LSR pods, or the kubelet's static policy, have
  std::vector<SharedPool> be;  // without what LSE pods have, or that policy gave out
  friend bool operator==(const SharedPools&, const SharedPools&) = default;
};

/// Pure; any thread. To be worked out again when the inventory or the machine's CPUs change.
SharedPools shared_pools(const host::Topology& topology, const Inventory& inventory);

/// What the kubelet's static policy gave to a pod that this agent does not pin itself.
struct KubeletAllocation {
  const PodInfo* pod = nullptr;  // null: the kubelet names no such pod
  const KubeletGrant* grant = nullptr;
};
/// Ascending by uid; they point into the inventory. A pod is the agent's if its label says LS or BE, or if
/// the scheduler gave it CPUs.
std::vector<KubeletAllocation> kubelet_allocations(const Inventory& inventory);

/// The CPUs of node.koordinator.sh/reservation: those that it names, else the first ones, as many as it
/// counts.
host::CpuSet reserved_cpus(const host::Topology& topology, const NodeInfo& node);

/// Which CPUs best-effort work may ever have. Whatever widens one of its sets goes by this.
struct BestEffortCpus {
  /// All that are online, less LSE pods', those that the kubelet's static policy gave out or keeps strictly,
  /// what is reserved on the node, and SYSTEM pods' own. LSR pods' are among them.
  host::CpuSet cpus;
  /// The same and the kubelet's: for folders whose containers the kubelet keeps off those itself.
  host::CpuSet folders;
  /// False: pods were never listed, or not for a while. Sets may be narrowed by this, none is to be widened.
  bool known = false;
};
/// Pure; any thread.
BestEffortCpus best_effort_cpus(const host::Topology& topology, const Inventory& inventory);

}  // namespace koord::koordlet
