// Pods and nodes as the agent sees them: see pod_info.hpp.
#include "framework/objects/pod_info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "framework/objects/annotations.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/node.hpp"
#include "koord/api/koordinator/node_agent.hpp"
#include "koord/api/lists/list_decoder.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/base/text.hpp"
#include "koord/host/text.hpp"
#include "koord/json/pointer.hpp"
#include "koord/json/value.hpp"

namespace koord::koordlet {

namespace {

/// Where the kubelet got a pod from: "api" for all but static ones.
constexpr std::string_view kSource = "kubernetes.io/config.source";
constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
constexpr std::string_view kAlways = "Always";
/// From here on a pod is critical for the cluster or the node (system-cluster-critical).
constexpr std::int32_t kCritical = 2'000'000'000;
bool plain_name(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
}

void add_warning(PodList& list, const std::shared_ptr<const api::Pod>& pod, std::string_view what) {
  if (list.warnings.size() < kMaxWarnings)
    list.warnings.push_back({pod, std::string(utf8_prefix(what, kMaxWarning))});
  else
    ++list.more_warnings;
}

const api::Container* find(const api::List<api::Container>& containers, Symbol name) {
  for (const api::Container& container : containers)
    if (container.name == name) return &container;
  return nullptr;
}

bool is_sidecar(const api::Container& container) { return container.restart_policy == kAlways; }

/// What of it can run at the same time as the others, and does.
void add_running(PodReading& reading, const api::List<api::ContainerStatus>& statuses,
                 const api::List<api::Container>& specs, host::CgroupDriver driver, ContainerKind kind) {
  for (const api::ContainerStatus& status : statuses) {
    if (!status.state.running) continue;
    const auto id = host::parse_container_id(status.container_id);
    if (!id) {
      reading.warnings.push_back(fmt::format("container {}: {}", status.name.view(), id.error().message()));
      continue;
    }
    reading.runs = true;
    ContainerInfo container;
    container.name = status.name.view();
    container.id = id->id;
    container.full_id = status.container_id;
    container.group = fmt::format("{}/{}", reading.info.group, host::container_folder(driver, *id));
    container.kind = kind;
    if (const api::Container* spec = find(specs, status.name)) {
      if (kind == ContainerKind::init && is_sidecar(*spec)) container.kind = ContainerKind::sidecar;
      const api::ResourceList& limits = spec->resources.limits;
      if (limits.contains("cpu"))
        container.cpu_limit_milli = milli(limits, "cpu");
      else if (limits.contains(api::kBatchCpu))
        container.cpu_limit_milli = plain(limits, api::kBatchCpu, kMaxMilli);
      if (limits.contains("memory"))
        container.memory_limit = plain(limits, "memory", kMaxBytes);
      else if (limits.contains(api::kBatchMemory))
        container.memory_limit = plain(limits, api::kBatchMemory, kMaxBytes);
      const api::ResourceList& requests = spec->resources.requests;
      container.memory_request = plain(
          requests, reading.info.qos == Qos::be ? api::kBatchMemory : std::string_view("memory"), kMaxBytes);
    }
    reading.info.containers.push_back(std::move(container));
  }
}

PodRequests requests_of(const api::Pod& pod) {
  PodRequests all;
  const api::ResourceList plain_requests = api::pod_requests(pod);
  all.cpu = milli(plain_requests, "cpu");
  all.memory = plain(plain_requests, "memory", kMaxBytes);
  const auto add = [&all](const api::Container& container) {
    const api::ResourceList& requests = container.resources.requests;
    all.batch_cpu += plain(requests, api::kBatchCpu, kMaxMilli);
    all.batch_memory += plain(requests, api::kBatchMemory, kMaxBytes);
    all.mid_cpu += plain(requests, api::kMidCpu, kMaxMilli);
    all.mid_memory += plain(requests, api::kMidMemory, kMaxBytes);
  };
  for (const api::Container& container : pod.spec.containers) add(container);
  for (const api::Container& container : pod.spec.init_containers)
    if (is_sidecar(container)) add(container);
  return all;
}

/// The kubelet gives a pod a quota only if each of its containers has a limit.
std::optional<std::int64_t> cpu_limit_of(const api::Pod& pod) {
  const bool whole = pod.spec.resources && pod.spec.resources->limits.contains("cpu");
  const auto limited = [](const api::Container& container) {
    return milli(container.resources.limits, "cpu") > 0;
  };
  const auto& containers = pod.spec.containers;
  const auto& first = pod.spec.init_containers;
  if (!whole && !(std::all_of(containers.begin(), containers.end(), limited) &&
                  std::all_of(first.begin(), first.end(), limited)))
    return std::nullopt;
  const std::int64_t limit = milli(api::pod_limits(pod, {.use_status = false}), "cpu");
  return limit > 0 ? std::optional(limit) : std::nullopt;
}

/// BE pods have one only if each of their containers has.
std::optional<std::int64_t> memory_limit_of(const api::Pod& pod, Qos qos) {
  if (qos != Qos::be) {
    const api::ResourceList limits = api::pod_limits(pod, {.use_status = false});
    return limits.contains("memory") ? std::optional(plain(limits, "memory", kMaxBytes)) : std::nullopt;
  }
  std::int64_t sum = 0;
  const auto add = [&sum](const api::Container& container) {
    const std::int64_t limit = plain(container.resources.limits, api::kBatchMemory, kMaxBytes);
    sum += limit;
    return limit > 0;
  };
  for (const api::Container& container : pod.spec.containers)
    if (!add(container)) return std::nullopt;
  for (const api::Container& container : pod.spec.init_containers)
    if (is_sidecar(container) && !add(container)) return std::nullopt;
  return sum > 0 ? std::optional(std::min(sum, kMaxBytes)) : std::nullopt;
}

std::string_view never_stop(const api::Pod& pod) {
  const Symbol* const source = pod.metadata.annotations.find(kSource);
  if ((source != nullptr && source->view() != "api") || pod.metadata.annotations.contains(kMirror))
    return "a static pod";
  if (pod.spec.priority && *pod.spec.priority >= kCritical) return "critical for the node or the cluster";
  return {};
}

/// How much faster the node's CPUs are than those that pods ask for; 1 where nobody says so.
double normalization_ratio(const api::Node& node, std::vector<std::string>& warnings) {
  const auto ratio = api::cpu_normalization_ratio(node.metadata.annotations);
  if (ratio) return ratio->value_or(1);
  warnings.push_back(ratio.error().message());
  return 1;
}

bool has_condition(const api::PodStatus& status, std::string_view type) {
  return std::any_of(status.conditions.begin(), status.conditions.end(),
                     [type](const auto& one) { return one.type == type; });
}
/// A resize that waits for room, or is refused.
bool resize_waits(const api::PodStatus& status) { return has_condition(status, "PodResizePending"); }
/// Whether the spec may ask for something else than what is in force. Only then the status is believed: there
/// are runtimes that tell what the kernel has, which may be ours.
bool resizes(const api::Pod& pod) {
  const std::int64_t seen = pod.status.observed_generation;
  return (seen > 0 && seen < pod.metadata.generation) || resize_waits(pod.status) ||
         has_condition(pod.status, "PodResizeInProgress");
}

/// Calls back with what is asked and what is in force, where that is something else: of CPU and memory.
template <class Containers, class F>
void each_difference(Containers& containers, const api::List<api::ContainerStatus>& statuses, F each) {
  for (auto& container : containers)
    for (const api::ContainerStatus& status : statuses) {
      if (!(status.name == container.name) || !status.resources) continue;
      for (const std::string_view name : {"cpu", "memory"})
        for (const auto side : {&api::ResourceRequirements::limits, &api::ResourceRequirements::requests}) {
          auto* const asked = (container.resources.*side).find(name);
          const api::Quantity* const has = (*status.resources.*side).find(name);
          if (asked != nullptr && has != nullptr && !(*asked == *has))
            each(*asked, *has, name == "cpu" && side == &api::ResourceRequirements::limits);
        }
    }
}

/// The pod as it runs: a resize in place may wait, be refused, or be on its way, and what follows from a
/// larger limit is not written before the kubelet has written its own. A smaller limit of CPU counts at once:
/// what the kernel measures against it, as burst, is in the kubelet's way.
std::shared_ptr<const api::Pod> as_it_runs(const std::shared_ptr<const api::Pod>& pod) {
  if (!resizes(*pod)) return pod;
  const api::PodStatus& status = pod->status;
  bool differs = false;
  const auto note = [&differs](const auto&, const auto&, bool) { differs = true; };
  each_difference(pod->spec.containers, status.container_statuses, note);
  each_difference(pod->spec.init_containers, status.init_container_statuses, note);
  if (!differs) return pod;
  const bool waits = resize_waits(status);
  auto running = std::make_shared<api::Pod>(*pod);
  const auto take = [waits](api::Quantity& asked, const api::Quantity& has, bool cpu_limit) {
    if (waits || !cpu_limit || has < asked) asked = has;
  };
  each_difference(running->spec.containers, status.container_statuses, take);
  each_difference(running->spec.init_containers, status.init_container_statuses, take);
  running->status = {};  // it has had its say
  return running;
}

/// A pod that starts, or starts again and again, has its CPUs all the while.
void add_own_cpus(const PodInfo& pod, OwnCpus& own) {
  if (!pod.cpus) return;
  if (pod.qos == Qos::lse) own.lse = own.lse | *pod.cpus;
  if (pod.qos == Qos::lsr) own.lsr = own.lsr | *pod.cpus;
}

}  // namespace

Result<PodReading> read_pod(std::shared_ptr<const api::Pod> pod, host::CgroupDriver driver,
                            std::string_view kubelet_root, PodTermsReaders readers) {
  const api::ObjectMeta& meta = pod->metadata;
  if (!plain_name(meta.uid))
    return Error(Code::invalid, fmt::format("the uid \"{}\" is not one", meta.uid.substr(0, 64)));
  PodReading reading;
  PodInfo& info = reading.info;
  info.uid = meta.uid;
  info.ns = meta.namespace_.view();
  info.name = meta.name;
  info.qos = api::koord_qos(*pod);
  info.kube_qos = api::kube_qos(*pod);
  info.priority_class = api::koord_priority(*pod);
  info.priority = pod->spec.priority;
  info.group = host::pod_folder(driver, info.kube_qos, meta.uid, kubelet_root);
  if (const auto status = read<api::ResourceStatus>(meta, reading.warnings))
    if (auto cpus = cpu_list(status->cpuset, api::ResourceStatus::kAnnotation, reading.warnings);
        !cpus.empty())
      info.cpus = std::move(cpus);
  const std::shared_ptr<const api::Pod> running = as_it_runs(pod);
  info.requests = requests_of(*running);
  info.cpu_limit_milli = cpu_limit_of(*running);
  info.memory_limit = memory_limit_of(*running, info.qos);
  info.never_stop = never_stop(*pod);
  for (const PodTermsReader reader : readers) reader(*running, info.terms, reading.warnings);
  if (meta.deletion_timestamp) info.deleted_by = meta.deletion_timestamp->wall();
  const std::string_view phase = pod->status.phase.view();
  reading.ended = phase == "Succeeded" || phase == "Failed";
  if (phase == "Pending") info.phase = PodPhase::pending;
  if (phase == "Running") info.phase = PodPhase::running;
  if (!reading.ended) {
    using enum ContainerKind;
    const api::PodStatus& status = pod->status;
    add_running(reading, status.container_statuses, running->spec.containers, driver, main);
    add_running(reading, status.init_container_statuses, running->spec.init_containers, driver, init);
    add_running(reading, status.ephemeral_container_statuses, pod->spec.ephemeral_containers, driver,
                ephemeral);
  }
  info.object = std::move(pod);
  return reading;
}

Result<PodList> read_pod_list(std::string_view json, std::string_view node, host::CgroupDriver driver,
                              std::string_view kubelet_root, PodTermsReaders readers) {
  if (std::cmp_greater(std::count(json.begin(), json.end(), '{'), kMaxObjects))
    return Error(Code::too_large,
                 fmt::format("more than {} objects are listed, which no node has", kMaxObjects));
  PodList list;
  std::string stranger;
  auto on_item = [&](std::shared_ptr<const api::Pod> pod) {
    ++list.listed;
    const std::string_view of = pod->spec.node_name.view();
    if (!of.empty() && of != node) {
      if (stranger.empty()) stranger = of;
      return;
    }
    auto reading = read_pod(pod, driver, kubelet_root, readers);
    if (!reading) {
      add_warning(list, pod, reading.error().message());
      return;
    }
    for (const std::string& warning : reading->warnings) add_warning(list, pod, warning);
    if (reading->ended) return;
    add_own_cpus(reading->info, list.own_cpus);
    list.all.push_back(std::make_shared<const PodInfo>(std::move(reading->info)));
    if (reading->runs) list.pods.push_back(list.all.back());
  };
  auto on_error = [&](const api::Pod& partial, const Error& error) {
    ++list.listed;
    const bool worded = list.warnings.size() < kMaxWarnings;
    add_warning(list, worded ? std::make_shared<const api::Pod>(partial) : nullptr, error.message());
  };
  const auto decoded = api::decode_list<api::Pod>(json, on_item, on_error, kMaxPods);
  if (!decoded && decoded.error().code() == Code::too_large)
    return Error(Code::too_large, fmt::format("more than {} pods are listed, which no node has", kMaxPods));
  if (!decoded) return decoded.error();
  if (!stranger.empty())
    return Error(Code::invalid, fmt::format("these are the pods of another node, \"{}\"", stranger));
  for (auto* pods : {&list.pods, &list.all}) {
    std::stable_sort(pods->begin(), pods->end(),
                     [](const auto& a, const auto& b) { return a->uid < b->uid; });
    const auto same = [](const auto& a, const auto& b) { return a->uid == b->uid; };
    pods->erase(std::unique(pods->begin(), pods->end(), same), pods->end());
  }
  return list;
}

void keep_unchanged(PodList& list, std::span<const std::shared_ptr<const PodInfo>> before) {
  auto old = before.begin();
  auto running = list.pods.begin();
  for (auto& pod : list.all) {
    while (old != before.end() && (*old)->uid < pod->uid) ++old;
    while (running != list.pods.end() && (*running)->uid < pod->uid) ++running;
    if (old == before.end() || (*old)->uid != pod->uid) continue;
    // Another driver or root has other groups of the same pod.
    if ((*old)->group != pod->group || *(*old)->object != *pod->object) continue;
    if (running != list.pods.end() && *running == pod) *running = *old;
    pod = *old;
  }
}

NodeInfo read_node(const api::Node& node, std::vector<std::string>& warnings) {
  NodeInfo info;
  info.name = node.metadata.name;
  info.capacity_milli_cpu = milli(node.status.capacity, "cpu");
  info.capacity_memory = plain(node.status.capacity, "memory", kMaxBytes);
  info.allocatable_milli_cpu = milli(node.status.allocatable, "cpu");
  info.allocatable_memory = plain(node.status.allocatable, "memory", kMaxBytes);
  for (const std::string_view name : {api::kBatchCpu, api::kBatchMemory, api::kMidCpu, api::kMidMemory})
    if (const api::Quantity* amount = node.status.allocatable.find(name))
      info.extended.push_back({std::string(name), amount->value()});
  // Where the allocatable is amplified, this is what there really is.
  if (const auto raw = read<api::AnnotatedResources>(node.metadata, warnings, api::kRawAllocatable)) {
    const auto says = [&](std::string_view name) {
      const api::Quantity* const amount = raw->resources.find(name);
      return amount != nullptr &&
             is_amount(*amount, api::kRawAllocatable, fmt::format("[{}]", name), warnings);
    };
    if (says("cpu")) info.allocatable_milli_cpu = milli(raw->resources, "cpu");
    if (says("memory")) info.allocatable_memory = plain(raw->resources, "memory", kMaxBytes);
  }
  // Whether the scheduler takes it from what is allocatable (applyPolicy) is nothing to the agent.
  if (const auto reservation = read<api::NodeReservation>(node.metadata, warnings)) {
    constexpr std::string_view kName = api::NodeReservation::kAnnotation;
    info.reserved_cpus = cpu_list(reservation->reserved_cpus, kName, warnings);
    if (!info.reserved_cpus.empty())
      info.reserved_milli_cpu = std::int64_t{1000} * info.reserved_cpus.size();
    else if (const api::Quantity* const cpu = reservation->resources.find("cpu");
             cpu == nullptr || is_amount(*cpu, kName, ".resources[cpu]", warnings))
      info.reserved_milli_cpu = milli(reservation->resources, "cpu");
  }
  if (const auto system = read<api::SystemQosResource>(node.metadata, warnings)) {
    info.system_qos_pool = cpu_list(system->cpuset, api::SystemQosResource::kAnnotation, warnings);
    if (system->cpuset_exclusive.value_or(true)) info.system_qos_cpus = info.system_qos_pool;
  }
  info.cpu_normalization = normalization_ratio(node, warnings);
  return info;
}

}  // namespace koord::koordlet
