// What a node's pods and its system take: see work.hpp.
#include "framework/noderesource/work.hpp"

#include <unordered_map>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/node.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/host/cpuset.hpp"

namespace koord::manager {
namespace {

using api::KoordPriority;
using api::KoordQos;
using api::Quantity;

struct PodKeyHash {
  std::size_t operator()(const std::pair<std::string_view, std::string_view>& key) const noexcept {
    return std::hash<std::string_view>{}(key.first) * 31 + std::hash<std::string_view>{}(key.second);
  }
};
using PodMetrics =
    std::unordered_map<std::pair<std::string_view, std::string_view>, const api::PodMetricInfo*, PodKeyHash>;

bool is_low(KoordPriority priority) {
  return priority == KoordPriority::batch || priority == KoordPriority::free;
}

/// Where a class stands by its default priority: none, free, batch, mid, prod.
int rank(KoordPriority priority) {
  switch (priority) {
    case KoordPriority::prod: return 4;
    case KoordPriority::mid: return 3;
    case KoordPriority::batch: return 2;
    case KoordPriority::free: return 1;
    case KoordPriority::none: return 0;
  }
  return 0;
}

/// What pods may have as the kubelet said: on a node whose resources are amplified its status says more.
CpuMemory allocatable_of(const api::Node& node) {
  CpuMemory said = CpuMemory::of(node.status.allocatable);
  const auto raw =
      api::read_annotation<api::AnnotatedResources>(node.metadata.annotations, api::kRawAllocatable);
  if (!raw || !*raw) return said;
  for (const auto& [name, part] : {std::pair{"cpu", &said.cpu}, std::pair{"memory", &said.memory}})
    if (const Quantity* amount = (*raw)->resources.find(name); amount != nullptr && amount->sign() > 0)
      *part = std::min(*part, *amount);
  return said;
}

}  // namespace

void for_each_pod(const NodeView& view, const std::function<void(const PodWork&)>& visit) {
  PodMetrics metrics;
  for (const api::PodMetricInfo& metric : view.metric->status.pods_metric)
    metrics[{metric.namespace_.view(), metric.name}] = &metric;
  for (const auto& pod : view.pods) {
    const std::string_view phase = pod->status.phase.view();
    if (phase != "Running" && phase != "Pending") continue;
    const auto metric = metrics.extract({pod->metadata.namespace_.view(), pod->metadata.name});
    const KoordQos qos = api::with_default(api::koord_qos(*pod), api::kube_qos(*pod));
    const KoordPriority priority = api::with_default(api::koord_priority(*pod), qos);
    PodWork work{.pod = pod.get(), .low = is_low(priority), .prod = priority != KoordPriority::mid};
    // What is not measured yet counts as requested, with every policy: upstream's maxUsageRequest would lend
    // it.
    work.requests = work.counted = work.larger = CpuMemory::of(api::pod_requests(*pod));
    if (!metric.empty()) {
      const CpuMemory used = CpuMemory::of(metric.mapped()->pod_usage.resources);
      work.counted = qos == KoordQos::lse ? CpuMemory{work.requests.cpu, used.memory} : used;
      work.larger = max(work.requests, used);
    }
    visit(work);
  }
  for (const auto& [key, metric] : metrics) {
    PodWork work{.low = is_low(api::parse_koord_priority(metric->priority.view()))};
    work.counted = work.larger = CpuMemory::of(metric->pod_usage.resources);
    visit(work);
  }
}

Work work_of(const NodeView& view) {
  Work work;
  for_each_pod(view, [&work](const PodWork& pod) {
    if (pod.low) return;
    if (pod.pod) {
      if (pod.prod) work.prod_requests += pod.requests;
      work.high_requests += pod.requests;
    }
    work.high_used += pod.counted;
    work.high_larger += pod.larger;
  });
  return work;
}

CpuMemory system_used(const NodeView& view, KoordPriority lent) {
  CpuMemory used = CpuMemory::of(view.metric->status.node_metric->system_usage.resources);
  for (const api::HostApplicationMetricInfo& application : view.metric->status.host_application_metric)
    if (rank(api::parse_koord_priority(application.priority.view())) > rank(lent))
      used += CpuMemory::of(application.usage.resources);
  return used;
}

CpuMemory reserved_of(const api::Node& node) {
  CpuMemory kept = max(CpuMemory::of(node.status.capacity) - allocatable_of(node), CpuMemory());
  // An annotation that cannot be read keeps nothing, all of it. Whether the scheduler takes the amounts from
  // what it gives out (applyPolicy) is nothing to what is lent.
  const auto said = api::read_annotation<api::NodeReservation>(node.metadata.annotations);
  if (!said || !*said) return kept;
  CpuMemory wanted = CpuMemory::of((*said)->resources);
  if (const std::string& cpus = (*said)->reserved_cpus; !cpus.empty()) {
    const auto set = host::CpuSet::parse(cpus);
    if (!set) return kept;
    wanted.cpu = Quantity::from_int(set->size());
  }
  return max(kept, wanted);
}

}  // namespace koord::manager
