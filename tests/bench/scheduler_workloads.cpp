// The workloads of the scheduler's bench: see scheduler_workloads.hpp.
#include "scheduler_workloads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/devices.hpp"
#include "koord/api/koordinator/gang.hpp"
#include "koord/api/koordinator/quota.hpp"
#include "scheduler_claims.hpp"
#include "scheduling/plugins/reservation/rules/status.hpp"

namespace koord::scheduling::bench {

namespace {

constexpr std::string_view kZone = "topology.kubernetes.io/zone", kHostname = "kubernetes.io/hostname";

void request(api::Pod& pod, std::string_view resource, const std::string& amount) {
  pod.spec.containers[0].resources.requests[resource] = api::Quantity::must(amount);
}

/// Its class's label, and a selector of it.
void color(api::Pod& pod, const Which& which) {
  pod.metadata.labels["color"] = fmt::format("c{}", which.cls);
}
void select(api::Box<api::LabelSelector>& selector, const Which& which) {
  selector.ensure().match_labels["color"] = fmt::format("c{}", which.cls);
}
api::PodAffinityTerm term(const Which& which, std::string_view key) {
  api::PodAffinityTerm made;
  select(made.label_selector, which);
  made.topology_key = key;
  made.namespaces = {"sched-0", "sched-1"};
  return made;
}

void basic(api::Pod&, const Which&) {}

std::string owner_name(int cls) { return fmt::format("replicas-{}", cls); }
void owned(api::Pod& pod, const Which& which) {
  color(pod, which);
  pod.metadata.owner_references.push_back({"apps/v1", "ReplicaSet", owner_name(which.cls), "uid", true, {}});
}

void node_affinity(api::Pod& pod, const Which&) {
  api::NodeSelectorTerm term;
  term.match_expressions.push_back({kZone, "In", {"zone-0", "zone-1"}});
  pod.spec.affinity.ensure().node_affinity.ensure().required.ensure().node_selector_terms.push_back(term);
}

void daemon(api::Pod& pod, const Which& which) {
  api::NodeSelectorTerm term;
  term.match_fields.push_back(
      {"metadata.name", "In", {Symbol(fmt::format("node-{}", which.number % which.nodes))}});
  pod.spec.affinity.ensure().node_affinity.ensure().required.ensure().node_selector_terms.push_back(term);
}

void pod_affinity(api::Pod& pod, const Which& which) {
  color(pod, which);
  pod.spec.affinity.ensure().pod_affinity.ensure().required.push_back(term(which, kZone));
}
void pod_anti_affinity(api::Pod& pod, const Which& which) {
  color(pod, which);
  pod.spec.affinity.ensure().pod_anti_affinity.ensure().required.push_back(term(which, kHostname));
}
void preferred_affinity(api::Pod& pod, const Which& which) {
  color(pod, which);
  pod.spec.affinity.ensure().pod_affinity.ensure().preferred.push_back({1, term(which, kHostname)});
}
void preferred_anti_affinity(api::Pod& pod, const Which& which) {
  color(pod, which);
  pod.spec.affinity.ensure().pod_anti_affinity.ensure().preferred.push_back({1, term(which, kHostname)});
}

/// Pods of all these kinds are there; those that are measured ask for none of it.
void mixed(api::Pod& pod, const Which& which) {
  using Kind = void (*)(api::Pod&, const Which&);
  constexpr Kind kKinds[] = {basic, pod_affinity, pod_anti_affinity, preferred_affinity,
                             preferred_anti_affinity};
  kKinds[static_cast<std::size_t>(which.number) % std::size(kKinds)](pod, which);
}

void spread(api::Pod& pod, const Which& which, std::string_view otherwise) {
  color(pod, which);
  api::TopologySpreadConstraint& c = pod.spec.topology_spread_constraints.emplace_back();
  c.max_skew = 5;
  c.topology_key = kZone;
  c.when_unsatisfiable = otherwise;
  select(c.label_selector, which);
}
void required_spread(api::Pod& pod, const Which& which) { spread(pod, which, "DoNotSchedule"); }
void preferred_spread(api::Pod& pod, const Which& which) { spread(pod, which, "ScheduleAnyway"); }

/// One of fifty fits nowhere.
void some_unschedulable(api::Pod& pod, const Which& which) {
  if (which.number % 50 != 0) return;
  request(pod, "cpu", "9");
  pod.spec.priority = 10;
}

/// Four of them fill a node.
void unimportant(api::Pod& pod, const Which&) { request(pod, "cpu", "900m"); }
void important(api::Pod& pod, const Which&) {
  request(pod, "cpu", "3");
  pod.spec.priority = 10;
}

void devices(api::Node& node, int) { node.status.allocatable["foo.com/gpu"] = api::Quantity::must("8"); }
void device(api::Pod& pod, const Which&) { request(pod, "foo.com/gpu", "1"); }

void gpu_machine(api::Node& node, int) {
  const auto amount = [&](std::string_view name, int of) {
    node.status.allocatable[name] = api::Quantity::from_int(of);
  };
  amount(api::kNvidiaGpu, kGpus);
  amount(api::kRdma, 100 * kGpus);
  for (const std::string_view percent : {api::kGpu, api::kGpuCore, api::kGpuMemoryRatio})
    amount(percent, 100 * kGpus);
}
void whole_gpu(api::Pod& pod, const Which&) { request(pod, api::kNvidiaGpu, "1"); }
void shared_gpu(api::Pod& pod, const Which&) {
  request(pod, api::kGpuCore, "50");
  request(pod, api::kGpuMemoryRatio, "50");
}
void whole_or_shared_gpu(api::Pod& pod, const Which& which) {
  (which.number % 2 == 0 ? whole_gpu : shared_gpu)(pod, which);
}
void gpus_with_functions(api::Pod& pod, const Which&) {
  request(pod, api::kNvidiaGpu, std::to_string(kGpus));
  request(pod, api::kRdma, std::to_string(kGpus));
  pod.metadata.annotations[api::DeviceHints::kAnnotation] =
      R"({"rdma":{"vfSelector":{},"allocateStrategy":"RequestsAsCount"}})";
  pod.metadata.annotations[api::DeviceJointAllocate::kAnnotation] =
      R"({"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"})";
}

void gate(api::Pod& pod, const Which&) { pod.spec.scheduling_gates.push_back({"test.k8s.io/hold"}); }

void machine(api::Node& node, int) {
  node.status.allocatable["cpu"] = api::Quantity::from_int(2 * kCores);
  node.status.allocatable["memory"] = api::Quantity::must("512Gi");
}
void whole_cpus(api::Pod& pod, const Which&) {
  pod.metadata.labels[api::kQosLabel] = "LSR";
  request(pod, "cpu", "4");
}
void one_memory_node(api::Pod& pod, const Which&) {
  request(pod, "cpu", "4");
  pod.metadata.annotations[api::NumaTopologySpec::kAnnotation] = R"({"numaTopologyPolicy":"SingleNUMANode"})";
}

/// As many owners as there are classes, and no more than reservations.
std::string owner_of(const Which& which) { return fmt::format("owner-{}", which.cls % which.nodes); }
void owner(api::Pod& pod, const Which& which) { pod.metadata.labels["of"] = owner_of(which); }

/// "q-1-2-3" of 123, "q-1-2" and "q-1" above it.
std::string quota_name(int number, int digits) {
  std::string name = fmt::format("q-{}", number / 100);
  if (digits > 1) name += fmt::format("-{}", number / 10 % 10);
  if (digits > 2) name += fmt::format("-{}", number % 10);
  return name;
}
void in_quota(api::Pod& pod, const Which& which) {
  pod.metadata.labels[api::kQuotaNameLabel] = quota_name(which.number % 1000, 3);
}

/// The last one may be short of pods, and waits.
template <int size>
void gang_of(api::Pod& pod, const Which& which) {
  pod.metadata.annotations[api::kGangName] = fmt::format("gang-{}", which.number / size);
  pod.metadata.annotations[api::kGangMin] = std::to_string(size);
}

/// Each needs a node that four unimportant pods have.
template <int size>
void important_gang(api::Pod& pod, const Which& which) {
  if constexpr (size > 1) gang_of<size>(pod, which);
  request(pod, "cpu", "4");
  pod.spec.priority = 10;
}
/// Four fit on a node, once the unimportant ones have gone.
template <int size>
void important_small_gang(api::Pod& pod, const Which& which) {
  important_gang<size>(pod, which);
  request(pod, "cpu", "1");
}

/// All of it in one domain of a layer.
template <int size>
void gathered(api::Pod& pod, const Which& which, std::string_view layer) {
  gang_of<size>(pod, which);
  request(pod, "cpu", "1");
  pod.metadata.annotations[api::NetworkTopologySpec::kAnnotation] =
      fmt::format(R"({{"gatherStrategy":[{{"layer":"{}","strategy":"MustGather"}}]}})", layer);
}
template <int size>
void in_block(api::Pod& pod, const Which& which) {
  gathered<size>(pod, which, "Block");
}
template <int size>
void in_spine(api::Pod& pod, const Which& which) {
  gathered<size>(pod, which, "Spine");
}
/// 20 blocks of 16 nodes a spine.
void networked(api::Node& node, int number) {
  node.metadata.labels["spine"] = fmt::format("spine-{}", number / 320);
  node.metadata.labels["block"] = fmt::format("block-{}", number / 16);
}
/// The first 320 nodes; the others are in no network.
void hardly_networked(api::Node& node, int number) {
  if (number < 320) networked(node, number);
}
/// Of 6,000 nodes 100 spines and 3,500 blocks.
void finely_networked(api::Node& node, int number) {
  node.metadata.labels["spine"] = fmt::format("spine-{}", number / 60);
  node.metadata.labels["block"] = fmt::format("block-{}", number % 60 * 35 / 60);
}

constexpr std::string_view kVolumePlugins = "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone";
constexpr std::string_view kEbs = "ebs.csi.aws.com";

bool waits(Disk disk) { return disk == Disk::local || disk == Disk::made; }

std::shared_ptr<api::PersistentVolume> make_volume(std::string name) {
  auto volume = std::make_shared<api::PersistentVolume>();
  volume->metadata.name = std::move(name);
  volume->metadata.resource_version = "1";
  volume->spec.capacity["storage"] = api::Quantity::must("1Gi");
  volume->spec.access_modes = {"ReadOnlyMany"};
  volume->status.phase = "Available";
  return volume;
}

std::shared_ptr<api::PersistentVolume> local_volume(const std::string& node) {
  auto volume = make_volume(fmt::format("pv-{}", node));
  volume->spec.storage_class_name = "wait";
  volume->spec.local.ensure().path = "/mnt";
  api::NodeSelectorTerm term;
  term.match_expressions.push_back({kHostname, "In", {Symbol(node)}});
  volume->spec.node_affinity.ensure().required.ensure().node_selector_terms.push_back(term);
  return volume;
}

void bind(api::PersistentVolume& volume, api::PersistentVolumeClaim& claim) {
  auto& ref = volume.spec.claim_ref.ensure();
  ref.namespace_ = claim.metadata.namespace_;
  ref.name = claim.metadata.name;
  ref.uid = claim.metadata.uid;
  volume.status.phase = "Bound";
  claim.spec.volume_name = Symbol(volume.metadata.name);
  claim.metadata.annotations["pv.kubernetes.io/bind-completed"] = "yes";
  claim.status.phase = "Bound";
  volume.metadata.resource_version = claim.metadata.resource_version = "2";
}

constexpr Workload kWorkloads[] = {
    {"SchedulingBasic", "", 0.2, 2, 0, nullptr, nullptr, basic},
    {"SchedulingBasic, owned", "PodTopologySpread", 0.2, 2, 0, nullptr, nullptr, owned, false, true},
    {"SchedulingNodeAffinity", "", 1, 2, 0, nullptr, nullptr, node_affinity},
    {"SchedulingPodAffinity", "InterPodAffinity", 1, 1, 0, nullptr, nullptr, pod_affinity},
    {"SchedulingPodAntiAffinity", "InterPodAffinity", 0.2, 0.4, 0, nullptr, nullptr, pod_anti_affinity},
    {"SchedulingPreferredPodAffinity", "InterPodAffinity", 1, 1, 0, nullptr, nullptr, preferred_affinity},
    {"SchedulingPreferredPodAntiAffinity", "InterPodAffinity", 1, 1, 0, nullptr, nullptr,
     preferred_anti_affinity},
    {"MixedSchedulingBasePod", "InterPodAffinity", 2, 1, 0, nullptr, mixed, basic},
    {"TopologySpreading", "PodTopologySpread", 1, 1, 0, nullptr, basic, required_spread},
    {"PreferredTopologySpreading", "PodTopologySpread", 1, 1, 0, nullptr, basic, preferred_spread},
    {"PreemptionBasic", "DefaultPreemption", 4, 1, 0, nullptr, unimportant, important, false, false, 100},
    {"Unschedulable", "", 0.02, 2, 0, nullptr, basic, some_unschedulable},
    {"SchedulingDaemonset", "", 0, 1, 15'000, nullptr, nullptr, daemon},
    {"SchedulingWithExtendedResource", "", 1, 2, 0, devices, nullptr, device},
    {"SchedulingWhileGated", "", 2, 2, 0, nullptr, gate, gate, true},
    {"SchedulingInTreePVs", kVolumePlugins, 1, 1, 0, nullptr, nullptr, basic, false, false, 1000, Disk::aws},
    {"SchedulingMigratedInTreePVs", kVolumePlugins, 1, 1, 0, nullptr, nullptr, basic, false, false, 1000,
     Disk::migrated},
    {"SchedulingCSIPVs", kVolumePlugins, 1, 1, 0, nullptr, nullptr, basic, false, false, 1000, Disk::csi},
    {"Volumes, local", kVolumePlugins, 0.2, 0.6, 0, nullptr, nullptr, basic, false, false, 1000, Disk::local},
    {"Volumes, made", kVolumePlugins, 1, 1, 0, nullptr, nullptr, basic, false, false, 1000, Disk::made},
    {.name = "Claims",
     .needs = "DynamicResources",
     .earlier_a_node = 1,
     .measured_a_node = 2,
     .pod = claims_device,
     .gone = true,
     .claims = true},
    {"LoadAware", "", 0.2, 2, 0, nullptr, nullptr, basic, false, false, 1000, Disk::none, 60},
    {"LoadAware, each second", "", 0.2, 2, 0, nullptr, nullptr, basic, false, false, 1000, Disk::none, 1},
    {"WholeCpus", "", 1, 4, 0, machine, nullptr, whole_cpus, false, false, 1000, Disk::none, 0, 2},
    {"SingleNUMANode", "", 1, 4, 0, machine, nullptr, one_memory_node, false, false, 1000, Disk::none, 0, 2},
    {"SingleNUMANode, 8", "", 1, 4, 0, machine, nullptr, one_memory_node, false, false, 1000, Disk::none, 0,
     8},
    {"NodeNUMAResource, others", "", 0.2, 2, 0, machine, nullptr, basic, false, false, 1000, Disk::none, 0,
     2},
    {.name = "GPUs, whole",
     .needs = "",
     .earlier_a_node = 0,
     .measured_a_node = 4,
     .node = gpu_machine,
     .pod = whole_gpu,
     .devices = true},
    {.name = "GPUs, shared",
     .needs = "",
     .earlier_a_node = 0,
     .measured_a_node = 4,
     .node = gpu_machine,
     .pod = shared_gpu,
     .devices = true},
    {.name = "GPUs, whole and shared, pods go",
     .needs = "",
     .earlier_a_node = 2,
     .measured_a_node = 4,
     .node = gpu_machine,
     .earlier = whole_or_shared_gpu,
     .pod = whole_or_shared_gpu,
     .gone = true,
     .devices = true},
    {.name = "GPUs, 8 with 8 functions of NICs",
     .needs = "",
     .earlier_a_node = 0,
     .measured_a_node = 0.9,
     .node = gpu_machine,
     .pod = gpus_with_functions,
     .devices = true},
    {.name = "GPUs, 8 with 8 functions of NICs, pods go",
     .needs = "",
     .earlier_a_node = 0.5,
     .measured_a_node = 2,
     .node = gpu_machine,
     .earlier = gpus_with_functions,
     .pod = gpus_with_functions,
     .gone = true,
     .devices = true},
    {.name = "GPUs, pods that want none",
     .needs = "",
     .earlier_a_node = 0.2,
     .measured_a_node = 2,
     .node = gpu_machine,
     .pod = basic,
     .devices = true},
    {"Reservation, none", "", 0.2, 2, 0, nullptr, nullptr, basic, false, false, 1000, Disk::none, 0, 0,
     Reserved::none},
    {"Reservation, others", "", 0.2, 2, 0, nullptr, nullptr, basic, false, false, 1000, Disk::none, 0, 0,
     Reserved::for_others},
    {"Reservation, owners", "", 0, 2, 0, nullptr, nullptr, owner, false, false, 1000, Disk::none, 0, 0,
     Reserved::for_pods, true},
    {"Reservation, placed", "", 0.2, 2, 0, nullptr, nullptr, basic, false, false, 1000, Disk::none, 0, 0,
     Reserved::measured},
    {"ElasticQuota, none", "", 0.2, 2, 0, nullptr, nullptr, basic, false, false, 1000, Disk::none, 0, 0,
     Reserved::no_plugin, false, 0},
    {"ElasticQuota, 1,000", "", 0.2, 2, 0, nullptr, nullptr, in_quota, false, false, 1000, Disk::none, 0, 0,
     Reserved::no_plugin, false, 1000},
    // Five thousand nodes have 10,000 pods of gangs.
    {"Gangs of 32", "", 0.2, 1.92, 0, nullptr, basic, gang_of<32>, false, false, 1000, Disk::none, 0, 0,
     Reserved::no_plugin, false, -1, true},
    {"Gangs of 1,000", "", 0.2, 2, 0, nullptr, basic, gang_of<1000>, false, false, 1000, Disk::none, 0, 0,
     Reserved::no_plugin, false, -1, true},
    {"Gangs of 3", "", 0.2, 1.8, 0, nullptr, basic, gang_of<3>, false, false, 1000, Disk::none, 0, 0,
     Reserved::no_plugin, false, -1, true},
    {"Gang of 9,000", "", 0.2, 1.8, 0, nullptr, basic, gang_of<9000>, false, false, 1000, Disk::none, 0, 0,
     Reserved::no_plugin, false, -1, true},
    {"Gangs of 32, in a block", "", 0.2, 1.92, 0, networked, basic, in_block<32>, false, false, 1000,
     Disk::none, 0, 0, Reserved::no_plugin, false, -1, true, true},
    // One gang, in a spine that has room for 240 pods.
    {"Gang of 200, 9,600 domains", "", 0, 0.0334, 6000, finely_networked, nullptr, in_spine<200>, false,
     false, 1000, Disk::none, 0, 0, Reserved::no_plugin, false, -1, true, true},
    {"Gang of 250, 9,600 domains", "", 0, 0.0417, 6000, finely_networked, nullptr, in_spine<250>, false,
     false, 1000, Disk::none, 0, 0, Reserved::no_plugin, false, -1, true, true},
    // 20 blocks of 16 nodes, and 99,680 nodes beside them.
    {.name = "Gangs of 32, in a block, others beside",
     .needs = "",
     .earlier_a_node = 0,
     .measured_a_node = 0.0064,
     .only_nodes = 100'000,
     .node = hardly_networked,
     .pod = in_block<32>,
     .gangs = true,
     .network = true},
    // Five thousand nodes are full of 20,000 pods.
    {.name = "Jobs preempt, pods",
     .needs = "",
     .earlier_a_node = 4,
     .measured_a_node = 0.96,
     .earlier = unimportant,
     .pod = important_gang<1>,
     .round = 100,
     .gangs = true,
     .jobs_preempt = true},
    {.name = "Jobs preempt, gangs of 32",
     .needs = "",
     .earlier_a_node = 4,
     .measured_a_node = 0.96,
     .earlier = unimportant,
     .pod = important_gang<32>,
     .round = 100,
     .gangs = true,
     .jobs_preempt = true},
    {.name = "Jobs preempt, gang of 1,000",
     .needs = "",
     .earlier_a_node = 4,
     .measured_a_node = 0.2,
     .earlier = unimportant,
     .pod = important_gang<1000>,
     .gangs = true,
     .jobs_preempt = true},
    // It would take 25,000 CPUs, and there are 20,000.
    {.name = "Jobs preempt, gang of 25,000 in vain",
     .needs = "",
     .earlier_a_node = 4,
     .measured_a_node = 5,
     .earlier = unimportant,
     .pod = important_small_gang<25000>,
     .gangs = true,
     .jobs_preempt = true},
    {"Gangs, none", "", 0.2, 2, 0, nullptr, nullptr, basic, false, false, 1000, Disk::none, 0, 0,
     Reserved::no_plugin, false, -1, true},
};

const char* namespace_of(bool earlier) { return earlier ? "sched-0" : "sched-1"; }

}  // namespace

std::span<const Workload> workloads() { return kWorkloads; }

api::ClusterNetworkTopology make_network() {
  api::ClusterNetworkTopology network;
  network.metadata.name = api::ClusterNetworkTopology::kName;
  network.metadata.uid = "network";
  network.spec.network_topology_spec = {{Symbol("Spine"), {}, {Symbol("spine")}},
                                        {Symbol("Block"), Symbol("Spine"), {Symbol("block")}},
                                        {Symbol(api::kNodeTopologyLayer), Symbol("Block"), {}}};
  return network;
}

std::vector<api::ElasticQuota> make_quotas(const Workload& workload) {
  std::vector<api::ElasticQuota> all;
  for (int digits = 1, step = 100; digits <= 3; ++digits, step /= 10)
    for (int number = 0; number < workload.quotas; number += step) {
      api::ElasticQuota& quota = all.emplace_back();
      quota.metadata.name = quota_name(number, digits);
      quota.metadata.namespace_ = "quotas";
      quota.metadata.uid = quota.metadata.name;
      if (digits > 1) quota.metadata.labels[api::kQuotaParentLabel] = quota_name(number, digits - 1);
      quota.metadata.labels[api::kQuotaIsParentLabel] = digits < 3 ? "true" : "false";
      quota.spec.min["cpu"] = api::Quantity::from_int(step);
      quota.spec.max["cpu"] = api::Quantity::from_int(20 * step);
      quota.spec.max["memory"] = api::Quantity::must("100Ti");
    }
  return all;
}

api::Node make_node(const Workload& workload, int number) {
  api::Node node;
  node.metadata.name = fmt::format("node-{}", number);
  node.metadata.labels[kHostname] = node.metadata.name;
  node.metadata.labels[kZone] = fmt::format("zone-{}", number % 3);
  node.status.allocatable = {{"cpu", api::Quantity::must("4")},
                             {"memory", api::Quantity::must("32Gi")},
                             {"pods", api::Quantity::must("110")}};
  if (workload.node != nullptr) workload.node(node, number);
  return node;
}

void add_storage(const Workload& workload, Storage& out) {
  if (!waits(workload.disk)) return;
  auto made = std::make_shared<api::StorageClass>();
  made->metadata.name = "wait";
  made->provisioner = workload.disk == Disk::made ? kEbs : std::string_view("kubernetes.io/no-provisioner");
  made->volume_binding_mode = "WaitForFirstConsumer";
  out.classes.push_back(std::move(made));
}

void add_storage(const Workload& workload, const api::Node& node, Storage& out) {
  if (workload.disk == Disk::local) out.volumes.push_back(local_volume(node.metadata.name));
  if (workload.disk != Disk::migrated && workload.disk != Disk::csi) return;
  auto drivers = std::make_shared<api::CsiNode>();
  drivers->metadata.name = node.metadata.name;
  api::CsiNodeDriver& driver = drivers->spec.drivers.emplace_back();
  driver.name = kEbs;
  driver.node_id = node.metadata.name;
  driver.allocatable.ensure().count = 39;
  if (workload.disk == Disk::migrated)
    drivers->metadata.annotations["storage.alpha.kubernetes.io/migrated-plugins"] = "kubernetes.io/aws-ebs";
  out.csi_nodes.push_back(std::move(drivers));
}

void add_storage(const Workload& workload, const api::Pod& pod, Storage& out) {
  if (workload.disk == Disk::none) return;
  auto claim = std::make_shared<api::PersistentVolumeClaim>();
  claim->metadata.name = pod.metadata.name;
  claim->metadata.namespace_ = pod.metadata.namespace_;
  claim->metadata.uid = fmt::format("claim-{}", pod.metadata.uid);
  claim->metadata.resource_version = "1";
  claim->spec.access_modes = {"ReadOnlyMany"};
  claim->spec.resources.requests["storage"] = api::Quantity::must("1Gi");
  if (waits(workload.disk)) claim->spec.storage_class_name = "wait";
  const bool bound = !waits(workload.disk) || !pod.spec.node_name.empty();
  if (bound) {
    auto volume = workload.disk == Disk::local ? local_volume(pod.spec.node_name.str())
                                               : make_volume(fmt::format("pv-{}", pod.metadata.uid));
    if (workload.disk == Disk::aws || workload.disk == Disk::migrated) {
      volume->spec.aws_elastic_block_store.ensure().volume_id = fmt::format("vol-{}", pod.metadata.uid);
    } else if (workload.disk != Disk::local) {
      volume->spec.csi.ensure().driver = kEbs;
      volume->spec.csi->volume_handle = pod.metadata.uid;
    }
    bind(*volume, *claim);
    out.volumes.push_back(std::move(volume));
  }
  out.claims.push_back(std::move(claim));
}

api::Reservation make_reservation(const Workload& workload, const Which& which, bool placed) {
  api::Reservation made;
  made.metadata.name = fmt::format("{}-{}", placed ? "kept" : "measured", which.number);
  made.metadata.uid = fmt::format("uid-{}", made.metadata.name);
  made.metadata.resource_version = "1";
  made.spec.template_.text = fmt::format(
      R"({{"spec":{{"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"{}m","memory":"1Gi"}}}}}}]}}}})",
      placed ? 500 : 100 + which.cls % 97);
  made.spec.owners.emplace_back().label_selector.ensure().match_labels["of"] =
      workload.reserved == Reserved::for_pods ? owner_of(which) : "nobody";
  made.spec.ttl = api::Duration(std::chrono::nanoseconds(0));
  made.spec.allocate_once = false;
  if (placed) reservation::set_available(made, Symbol(fmt::format("node-{}", which.number)), WallTime());
  return made;
}

api::ReplicaSet make_owner(int cls, bool earlier) {
  api::ReplicaSet owner;
  owner.metadata.name = owner_name(cls);
  owner.metadata.namespace_ = namespace_of(earlier);
  owner.spec.selector.match_labels["color"] = fmt::format("c{}", cls);
  return owner;
}

api::Pod make_pod(const Workload& workload, const Which& which, bool earlier) {
  api::Pod pod;
  const char* const kind = earlier ? "earlier" : "measured";
  pod.metadata.name = fmt::format("{}-{}", kind, which.number);
  pod.metadata.namespace_ = namespace_of(earlier);
  pod.metadata.uid = fmt::format("uid-{}-{}", kind, which.number);
  pod.spec.scheduler_name = "default-scheduler";
  pod.spec.containers.emplace_back().image = "registry.k8s.io/pause:3.10.1";
  request(pod, "cpu", fmt::format("{}m", 100 + which.cls % 97));
  request(pod, "memory", fmt::format("{}Mi", 500 + which.cls / 97));
  (earlier && workload.earlier != nullptr ? workload.earlier : workload.pod)(pod, which);
  if (workload.disk != Disk::none) {
    api::Volume& volume = pod.spec.volumes.emplace_back();
    volume.name = "data";
    volume.persistent_volume_claim.ensure().claim_name = pod.metadata.name;
  }
  return pod;
}

}  // namespace koord::scheduling::bench
