// The workloads of the scheduler's bench: upstream's scheduler_perf, with the sizes as so many pods a node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "koord/api/types/apps_v1/replica_set.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/cluster_network_topology.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/api/types/storage_v1/csi_node.hpp"
#include "koord/api/types/storage_v1/storage_class.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"

namespace koord::scheduling::bench {

/// A pod is the number-th of its kind, and of class cls: pods of one class differ in nothing that decides.
struct Which {
  int number, cls, nodes;
};

/// The volume that each pod has by a claim of its own.
enum class Disk : std::uint8_t {
  none,
  aws,       // of a plugin of old, bound
  migrated,  // the same where its driver has taken over
  csi,       // bound
  local,     // the claim waits for its first consumer; each node has a volume
  made,      // the same, and the volume is made then
};

/// What there is of reservations.
enum class Reserved : std::uint8_t {
  no_plugin,
  none,        // the plugin has a say, that is all
  for_others,  // one on each node, and none of them is for the pods
  for_pods,    // one on each node, those of a class for its pods
  measured,    // what is measured are reservations, not pods
};

/// Objects about volumes, as the API server tells of them.
struct Storage {
  std::vector<std::shared_ptr<const api::StorageClass>> classes;
  std::vector<std::shared_ptr<const api::CsiNode>> csi_nodes;
  std::vector<std::shared_ptr<const api::PersistentVolume>> volumes;
  std::vector<std::shared_ptr<const api::PersistentVolumeClaim>> claims;
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
  Disk disk = Disk::none;
  /// LoadAwareScheduling has a say, and all nodes report what they use once in so many seconds; 0: neither.
  double report_seconds = 0;
  /// NodeNUMAResource has a say, and all nodes are machines of 2 x 32 cores x 2 threads that report so many
  /// memory nodes; 0: neither.
  int memory_nodes = 0;
  Reserved reserved = Reserved::no_plugin;
  /// Pods go as soon as the watch has told that they are bound.
  bool gone = false;
  /// ElasticQuota has a say, and there are so many quotas that have pods: 10 under each, three levels. None:
  /// all pods are the default quota's. Negative: the plugin has no say.
  int quotas = -1;
  /// Coscheduling has a say.
  bool gangs = false;
  /// There is a network of spines, blocks and nodes, by labels that `node` sets, and gangs are placed by it.
  bool network = false;
  /// DeviceShare has a say, and all nodes are machines of 8 GPUs and 8 NICs of 8 virtual functions each.
  bool devices = false;
  /// Each node has eight devices, and each pod a claim for one of them, from a template.
  bool claims = false;
  /// Pods preempt as jobs (enablePreemption), and gangs as one.
  bool jobs_preempt = false;
};

std::span<const Workload> workloads();

/// Of a machine with memory nodes, with two threads each; of one with GPUs, each on a PCIe switch with a NIC.
inline constexpr int kCores = 64, kGpus = 8;

/// Four CPUs, 32 GiB and 110 pods, in one of three zones.
api::Node make_node(const Workload& workload, int number);
/// With 100m CPU and 500 MiB; what the class adds to that is little.
api::Pod make_pod(const Workload& workload, const Which& which, bool earlier);
/// What there is of volumes besides the pods'; of a node; of a pod that waits; and of one that is bound.
void add_storage(const Workload& workload, Storage& out);
void add_storage(const Workload& workload, const api::Node& node, Storage& out);
void add_storage(const Workload& workload, const api::Pod& pod, Storage& out);
/// The report-th of a node: with the usage of 20 pods, and percentiles over three periods.
api::NodeMetric make_report(int node, int report, WallTime now);
/// What the agent of such a node reports.
api::NodeResourceTopology make_topology(const Workload& workload, int node);
/// What the agent of a machine with GPUs reports.
api::Device make_device(int node);
/// On the node of its number, with half a CPU of it; without `placed` on none, and as much as a pod asks for.
api::Reservation make_reservation(const Workload& workload, const Which& which, bool placed);
/// A workload's quotas, parents first.
std::vector<api::ElasticQuota> make_quotas(const Workload& workload);
/// Spines, blocks and nodes.
api::ClusterNetworkTopology make_network();
/// The owner of a class's pods.
api::ReplicaSet make_owner(int cls, bool earlier);

}  // namespace koord::scheduling::bench
