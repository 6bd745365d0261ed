// The scheduler's oracle: what kube-scheduler says of a pod on every node, computed anew and simply from
// objects.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "koord/api/koordinator/devices.hpp"
#include "koord/api/types/apps_v1/replica_set.hpp"
#include "koord/api/types/apps_v1/stateful_set.hpp"
#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/core_v1/replication_controller.hpp"
#include "koord/api/types/core_v1/service.hpp"
#include "koord/api/types/policy_v1/pod_disruption_budget.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/api/types/storage_v1/csi_driver.hpp"
#include "koord/api/types/storage_v1/csi_node.hpp"
#include "koord/api/types/storage_v1/csi_storage_capacity.hpp"
#include "koord/api/types/storage_v1/storage_class.hpp"
#include "koord/api/types/storage_v1/volume_attachment.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"

namespace koord::api {
struct AllocationResult;
struct DeviceClass;
struct ResourceClaim;
struct ResourceSlice;
}  // namespace koord::api

// Of the tree it includes koord/api, koord/base and koord/cel alone, so that it shares no mistake with the
// engine.
namespace koord::reference {

template <class T>
using ByKey = std::map<std::string, std::shared_ptr<const T>>;

/// Claims and volumes as they will be when what was decided for pods is written.
struct Assumed {
  ByKey<api::PersistentVolumeClaim> claims;  // whose volumes are to be made for a node
  ByKey<api::PersistentVolume> volumes;      // that are to be a claim's
};

/// By namespace/name, or by name what has no namespace.
struct Cluster {
  ByKey<api::Node> nodes;
  ByKey<api::Pod> pods;       // on nodes, bound or assumed, any scheduler's
  ByKey<api::Pod> nominated;  // waiting, with status.nominatedNodeName
  ByKey<api::Namespace> namespaces;
  ByKey<api::Service> services;
  ByKey<api::ReplicationController> replication_controllers;
  ByKey<api::ReplicaSet> replica_sets;
  ByKey<api::StatefulSet> stateful_sets;
  ByKey<api::PodDisruptionBudget> budgets;
  ByKey<api::PersistentVolumeClaim> claims;
  ByKey<api::PersistentVolume> volumes;
  ByKey<api::StorageClass> classes;
  Assumed assumed;
  ByKey<api::CsiDriver> drivers;
  ByKey<api::CsiStorageCapacity> capacities;
  ByKey<api::CsiNode> csi_nodes;
  ByKey<api::VolumeAttachment> attachments;
  ByKey<api::NodeMetric> node_metrics;
  ByKey<api::Reservation> reservations;
  ByKey<api::NodeResourceTopology> topologies;
  ByKey<api::Device> devices;
  ByKey<api::ResourceSlice> slices;
  ByKey<api::DeviceClass> device_classes;
  ByKey<api::ResourceClaim> resource_claims;  // as they are written
  /// By the claim's key: what was decided for it and is not written yet.
  ByKey<api::AllocationResult> assumed_devices;
  /// The last Device of nodes that had one since the scheduler started; nullptr: none, but there was a pod
  /// that was given devices.
  ByKey<api::Device> once_devices;
  /// Nodes that were chosen for reservations which do not say so yet, by uid.
  std::map<std::string, std::string> placed;
  /// When pods were assumed, by key, of those in `pods` that do not say since when they are scheduled.
  std::map<std::string, WallTime> assumed_at;
  WallTime now{};
};

/// A percentile of a node's usage, of the arguments below.
struct LoadAggregation {
  std::map<std::string, std::int64_t> thresholds;
  std::string type;
  nanoseconds period{0};
};
/// The arguments of Koordinator's LoadAwareScheduling, with its defaults.
struct LoadArgs {
  using Numbers = std::map<std::string, std::int64_t>;
  bool filter_expired = true, schedule_when_expired = false;
  std::chrono::seconds expiration{180};
  Numbers weights = {{"cpu", 1}, {"memory", 1}};
  std::int64_t dominant_weight = 0;
  Numbers thresholds = {{"cpu", 65}, {"memory", 95}}, prod_thresholds;
  bool prod_includes_system = false, score_by_prod = false, customizable = false;
  Numbers factors = {{"cpu", 85}, {"memory", 70}};
  std::int64_t after_scheduled = 0, after_initialized = 0;
  std::optional<LoadAggregation> aggregated;  // of thresholds
  std::optional<LoadAggregation> scored;      // of scores; without thresholds
};

/// The arguments of Koordinator's NodeNUMAResource, with its defaults.
struct NumaArgs {
  std::string bind = "FullPCPUs";         // of pods that say no policy; "": they are not bound
  bool most = false, zones_most = false;  // MostAllocated, of nodes and of memory nodes
  std::map<std::string, std::int64_t> resources = {{"cpu", 1}, {"memory", 1}};
};

/// The arguments of Koordinator's DeviceShare, with its defaults.
struct DeviceArgs {
  bool most = false;  // MostAllocated
  std::map<std::string, std::int64_t> weights = {{std::string(api::kGpuMemoryRatio), 1},
                                                 {std::string(api::kGpuMemory), 1},
                                                 {std::string(api::kRdma), 1},
                                                 {std::string(api::kFpga), 1}};
  std::vector<std::pair<std::string, std::string>> unshared;  // vendor and model
  std::set<std::string> template_resources = {std::string(api::kNpuCore)};
  api::GpuShareTemplates templates;
};

/// Kubernetes' gates of resource claims, with the defaults of 1.35.
struct ClaimGates {
  bool partitions = false;  // DRAPartitionableDevices
  bool shares = false;      // DRAConsumableCapacity
  bool taints = false;      // DRADeviceTaints
};

struct Rejection {
  std::string plugin;  // empty: a PreFilter named other nodes
  bool unresolvable = false;
  std::vector<std::string> reasons;  // sorted
  friend bool operator==(const Rejection&, const Rejection&) = default;
};

/// What HTTP extenders say together, those that may be ignored after the others.
struct Extended {
  std::function<bool(const api::Pod&)> asks;  // any of them
  /// Why the attempt fails; empty: it does not.
  std::function<std::string(const api::Pod&)> error;
  std::function<std::optional<Rejection>(const api::Pod&, const api::Node&)> filter;
  std::function<std::int64_t(const api::Pod&, const api::Node&)> score;
};

/// A profile. The defaults are kube-scheduler's.
struct Config {
  struct Weighted {
    std::string name;
    std::int64_t weight;
  };
  enum class Strategy : std::uint8_t { least_allocated, most_allocated, requested_to_capacity_ratio };

  /// In the order in which they are asked.
  std::vector<std::string> filters = {"NodeUnschedulable",  "NodeName",          "TaintToleration",
                                      "NodeAffinity",       "NodePorts",         "NodeResourcesFit",
                                      "VolumeRestrictions", "NodeVolumeLimits",  "VolumeBinding",
                                      "VolumeZone",         "PodTopologySpread", "InterPodAffinity"};
  std::vector<Weighted> scores = {{"TaintToleration", 3},  {"NodeAffinity", 2},
                                  {"NodeResourcesFit", 1}, {"PodTopologySpread", 2},
                                  {"InterPodAffinity", 2}, {"NodeResourcesBalancedAllocation", 1},
                                  {"ImageLocality", 1}};
  bool preemption = true;  // DefaultPreemption is there

  api::Box<api::NodeAffinity> added_affinity;
  Strategy strategy = Strategy::least_allocated;
  std::vector<Weighted> fit_resources = {{"cpu", 1}, {"memory", 1}};
  std::vector<std::pair<std::int64_t, std::int64_t>> shape;  // (utilization 0..100, score 0..10)
  std::set<std::string> ignored_resources, ignored_resource_groups;
  std::vector<Weighted> balanced_resources = {{"cpu", 1}, {"memory", 1}};
  /// Absent: the system's.
  std::optional<std::vector<api::TopologySpreadConstraint>> default_constraints;
  std::int64_t hard_pod_affinity_weight = 1;
  bool ignore_preferred_terms_of_existing_pods = false;
  LoadArgs load;
  NumaArgs numa;
  DeviceArgs devices;
  ClaimGates claim_gates;
  std::set<std::string> unreserved_resources;  // that Reservation does not look at
  std::optional<Extended> extended;
};

struct NodeAnswer {
  struct Score {
    std::int64_t raw = 0;    // before normalisation
    std::int64_t final = 0;  // 0..100, times the weight
    friend bool operator==(const Score&, const Score&) = default;
  };
  std::optional<Rejection> rejected;
  std::map<std::string, Score> scores;  // of the plugins that have a say about the pod
  std::int64_t final = 0;
  /// Whose room the pod gets there: of any of these reservations (uids); none: of no reservation.
  std::set<std::string> reservations;
};

struct Answer {
  std::string error;              // set: the attempt failed, whatever the nodes are like
  std::string prefilter_message;  // set: the nodes were not looked at
  std::map<std::string, NodeAnswer> nodes;
  std::size_t feasible = 0;
  std::string message;  // FitError without PostFilter's part; empty if a node is feasible
  std::multiset<std::string> about_reservations;  // the parts of what Reservation says there
};

/// Nodes are judged with the pods that are nominated to them, as far as they are none of lower priority.
Answer evaluate(const Cluster& cluster, const Config& config, const api::Pod& pod);

/// What is assumed for a pod that goes to this node; absent: nothing waits for a pod of its volumes.
std::optional<Assumed> assumed_on(const Cluster& cluster, const Config& config, const api::Pod& pod,
                                  const api::Node& node);

/// What NodeNUMAResource writes into a pod that goes to this node.
struct NumaWritten {
  std::set<int> cpus;
  std::map<int, std::map<std::string, std::int64_t>> zones;  // by memory node: cpu in milli
  /// How its CPUs are bound, and whether they have to be; "": they are not.
  std::string bind;
  bool required = false;
};
/// Absent: nothing is written.
std::optional<NumaWritten> numa_written(const Cluster& cluster, const Config& config, const api::Pod& pod,
                                        const api::Node& node);

/// What DeviceShare gives a pod that goes to this node, by type; none: it has no say.
struct DeviceGift {
  std::string refused;  // Reserve fails with it
  std::map<std::string, std::vector<api::AllocatedDevice>> devices;
};
DeviceGift device_gift(const Cluster& cluster, const Config& config, const api::Pod& pod,
                       const api::Node& node);

/// What DynamicResources gives the claims of a pod that goes to this node, by key: those that have nothing
/// yet. Names of shares and configuration are left out.
ByKey<api::AllocationResult> claims_gift(const Cluster& cluster, const Config& config, const api::Pod& pod,
                                         const api::Node& node);

struct Preemption {
  struct Candidate {
    std::vector<std::string> victims;  // namespace/name, the most important first
    std::int64_t violations = 0;
    bool certain = true;  // false: victims are alike in priority and start, any order of them will do
  };
  std::map<std::string, Candidate> candidates;
  std::set<std::string> best;  // of them
  std::string message;         // what PostFilter adds to the FitError, "" for a success
};

/// What DefaultPreemption does for a pod that evaluate() finds no node for.
Preemption preempt(const Cluster& cluster, const Config& config, const api::Pod& pod);

}  // namespace koord::reference
