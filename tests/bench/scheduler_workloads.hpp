// The workloads of the scheduler's bench: upstream's scheduler_perf, with the sizes as so many pods a node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "koord/api/types/apps_v1/replica_set.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduler::bench {

/// A pod is the number-th of its kind, and of class cls: pods of one class differ in nothing that decides.
struct Which {
  int number, cls, nodes;
};

struct Workload {
  std::string_view name;
  /// Plugins without which it would say nothing; spaces between.
  std::string_view needs;
  double earlier_a_node;   // pods that are there or wait before the clock runs
  double measured_a_node;  // pods that are measured
  int only_nodes = 0;      // its number of nodes; 0: whatever is asked
  void (*node)(api::Node&, int number) = nullptr;
  void (*earlier)(api::Pod&, const Which&) = nullptr;  // absent: as the measured ones
  void (*pod)(api::Pod&, const Which&) = nullptr;
  /// The pods arrive gated, and their gate is removed; both count as enqueueing.
  bool gated = false;
  /// Each class is of a ReplicaSet, so that the system's default spread holds for it.
  bool owned = false;
  /// So many decisions are made between two rounds of what the watch tells of them.
  std::size_t round = 1000;
};

std::span<const Workload> workloads();

/// Four CPUs, 32 GiB and 110 pods, in one of three zones.
api::Node make_node(const Workload& workload, int number);
/// With 100m CPU and 500 MiB; what the class adds to that is little.
api::Pod make_pod(const Workload& workload, const Which& which, bool earlier);
/// The owner of a class's pods.
api::ReplicaSet make_owner(int cls, bool earlier);

}  // namespace koord::scheduler::bench
