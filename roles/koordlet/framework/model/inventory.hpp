// Inventory: what is on the node and what is asked of it, as one immutable value: the node, its pods with
// their cgroups, host applications, the NodeSLO in effect. The agent's other parts read nothing else of
// Kubernetes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/model/pod_terms.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/base/clock.hpp"
#include "koord/host/cgroup_paths.hpp"
#include "koord/host/cpuset.hpp"

namespace koord::api {
struct NodeSloSpec;
struct Pod;
}  // namespace koord::api

namespace koord::koordlet {

struct ClaimVolumes;
struct KubeletConfig;

using Qos = api::KoordQos;
using PriorityClass = api::KoordPriority;

/// All groups are cgroup paths relative to a hierarchy's root, without a slash at either end.

enum class ContainerKind : std::uint8_t {
  main,
  sidecar,    // an init container that goes on running
  init,       // before the others
  ephemeral,  // of someone who looks for a fault
};

struct ContainerInfo {
  std::string name;
  std::string id;       // without "containerd://"
  std::string full_id;  // with it
  std::string group;
  ContainerKind kind = ContainerKind::main;
  /// Of what the container may use; nothing: no limit.
  std::optional<std::int64_t> cpu_limit_milli;
  std::optional<std::int64_t> memory_limit;
  std::int64_t memory_request = 0;
};

/// What the containers and sidecars of a pod ask for: CPU in thousandths, memory in bytes. Of cpu and memory
/// it is what the scheduler counts.
struct PodRequests {
  std::int64_t cpu = 0, memory = 0;
  std::int64_t batch_cpu = 0, batch_memory = 0;
  std::int64_t mid_cpu = 0, mid_memory = 0;
  friend bool operator==(const PodRequests&, const PodRequests&) = default;
};

enum class PodPhase : std::uint8_t { unknown, pending, running };

struct PodInfo {
  std::string uid;
  std::string ns, name;
  Qos qos = Qos::none;
  host::KubeQos kube_qos = host::KubeQos::besteffort;
  PriorityClass priority_class = PriorityClass::none;
  std::optional<std::int32_t> priority;
  std::string group;
  /// Of its pause container; empty: it has none, or which one it is is not known yet.
  std::string sandbox_group;
  std::vector<ContainerInfo> containers;  // those that run
  /// The CPUs that the scheduler gave the pod (scheduling.koordinator.sh/resource-status).
  std::optional<host::CpuSet> cpus;
  PodRequests requests;
  /// Nothing is known of what it asks for: what protects it stays as it was found.
  bool requests_unknown = false;
  /// The kubelet's limit of the whole pod; nothing: a container has none.
  std::optional<std::int64_t> cpu_limit_milli;
  PodPhase phase = PodPhase::unknown;
  /// It was asked to go, and has until then.
  std::optional<WallTime> deleted_by;
  /// Why nothing may ever evict or stop it (static text); empty: something may.
  std::string_view never_stop;
  PodTerms terms;
  /// What its containers and sidecars may use together: of batch memory for BE pods. Nothing: no limit.
  std::optional<std::int64_t> memory_limit;
  /// Null where there is no Kubernetes.
  std::shared_ptr<const api::Pod> object;

  /// Latency-sensitive as CPU suppression sees it: neither koordinator's BE nor Kubernetes' BestEffort.
  bool is_be() const { return qos == Qos::be || kube_qos == host::KubeQos::besteffort; }
  /// Where the pod says nothing of its own, what follows from its class of quality.
  PriorityClass effective_class() const;
  std::int32_t effective_priority() const;
};

struct HostApplication {
  std::string name;
  Qos qos = Qos::none;
  PriorityClass priority_class = PriorityClass::none;
  std::string group;
};

/// An amount of a batch or mid resource, as the API has it: CPU in thousandths, memory in bytes.
struct ExtendedResource {
  std::string name;  // api::kBatchCpu and its like
  std::int64_t value = 0;
  friend bool operator==(const ExtendedResource&, const ExtendedResource&) = default;
};

/// CPUs that the kubelet's static CPU manager policy gave to containers of a pod.
struct KubeletGrant {
  std::string uid;
  host::CpuSet cpus;  // not empty
  friend bool operator==(const KubeletGrant&, const KubeletGrant&) = default;
};

/// CPUs that are somebody's own: of every pod that is bound to the node, whether it runs or not.
struct OwnCpus {
  host::CpuSet lse, lsr;
  /// What the kubelet's static CPU manager policy gave out.
  host::CpuSet kubelet;
  /// What that policy leaves to containers without CPUs of their own (its defaultCpuSet): neither what it
  /// gave out nor what it keeps strictly for the system. Nothing: another policy.
  std::optional<host::CpuSet> kubelet_shared;
  /// The same by pod, ascending by uid; none where the kubelet's configuration is not asked for.
  std::vector<KubeletGrant> grants;
  /// The kubelet or its checkpoint does not say any more: this is what they said last.
  bool stale = false;
  friend bool operator==(const OwnCpus&, const OwnCpus&) = default;
};

struct NodeInfo {
  std::string name;
  std::int64_t capacity_milli_cpu = 0, allocatable_milli_cpu = 0;
  std::int64_t capacity_memory = 0, allocatable_memory = 0;  // bytes
  /// node.koordinator.sh/reservation: what the operator keeps for other things; whole CPUs, too, where they
  /// are named.
  std::int64_t reserved_milli_cpu = 0;
  host::CpuSet reserved_cpus;
  /// node.koordinator.sh/system-qos-resource: for pods of the class SYSTEM; and again where it is for nobody
  /// else.
  host::CpuSet system_qos_pool, system_qos_cpus;
  /// node.koordinator.sh/cpu-normalization-ratio: how much faster its CPUs are than those that pods ask for.
  double cpu_normalization = 1;
  std::vector<ExtendedResource> extended;  // allocatable, what there is of batch and mid
  /// The kubelet's CPU manager pins containers by itself.
  bool static_cpu_policy = false;

  friend bool operator==(const NodeInfo&, const NodeInfo&) = default;
};

struct Inventory {
  /// Grows with every change.
  std::uint64_t generation = 0;
  host::CgroupDriver driver = host::CgroupDriver::cgroupfs;
  std::string kubelet_root;  // its cgroupRoot, as host::kubelet_root() gives it
  NodeInfo node;
  /// Ascending by uid: those of which a container runs, and all that have not ended.
  std::vector<std::shared_ptr<const PodInfo>> pods, all_pods;
  std::vector<HostApplication> host_applications;  // ascending by name
  OwnCpus own_cpus;
  /// What the kubelet said last of its configuration. Null: nothing yet, or it is not asked.
  std::shared_ptr<const KubeletConfig> kubelet;
  /// Of pods that say something of volumes of claims; null: nobody asks for them.
  std::shared_ptr<const ClaimVolumes> claims;
  /// The groups that hold all that is best-effort: kubepods/besteffort, or each BE group of a standalone
  /// configuration.
  std::vector<std::string> be_roots;
  /// Merged over its defaults. Null: no NodeSLO is known, no strategy may act.
  std::shared_ptr<const api::NodeSloSpec> slo;
  /// The API server (or the file) has answered: a null slo means that there is none, and what was throttled
  /// is set free. False at the start of an agent that has not reached the API server yet.
  bool slo_known = false;
  /// False until pods were listed once.
  bool pods_known = false;

  /// Whether a group is one of the be_roots or below one: its use is part of theirs.
  bool in_best_effort(std::string_view group) const;
};

/// Where the inventory is: one writer, any number of readers, all on the event loop's thread.
class InventoryHub {
 public:
  using Listener = std::function<void(const std::shared_ptr<const Inventory>&)>;
  InventoryHub();
  const std::shared_ptr<const Inventory>& current() const { return current_; }
  /// Sets the generation, keeps it, tells the listeners in their order.
  void publish(Inventory next);
  /// Called at every publish() from now on; never removed: listeners live as long as the hub.
  void listen(Listener listener);

 private:
  std::shared_ptr<const Inventory> current_;
  std::vector<Listener> listeners_;
};

}  // namespace koord::koordlet
