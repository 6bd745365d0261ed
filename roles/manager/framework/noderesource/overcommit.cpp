// Batch and mid resources: see overcommit.hpp.
#include "framework/noderesource/overcommit.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "framework/noderesource/json_quantity.hpp"
#include "framework/noderesource/work.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/host/cpuset.hpp"
#include "koord/json/value.hpp"

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
  const std::string_view text =
      api::value_or(node.metadata.annotations, "node.koordinator.sh/raw-allocatable");
  if (text.empty()) return said;
  const auto raw = json::parse(text);
  if (!raw || !raw->is_object()) return said;
  for (const auto& [name, part] : {std::pair{"cpu", &said.cpu}, std::pair{"memory", &said.memory}})
    if (const json::Value* value = json::find(*raw, name))
      if (const auto quantity = quantity_of(*value); quantity && quantity->sign() > 0)
        *part = std::min(*part, *quantity);
  return said;
}

double share(const std::optional<std::int64_t>& percent) {
  return static_cast<double>(percent.value_or(0)) / 100;
}

Quantity whole(std::int64_t value, Quantity::Format format = Quantity::Format::decimal_si) {
  return Quantity::from_int(std::max<std::int64_t>(value, 0), format);
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

CpuMemory system_used(const NodeView& view, KoordPriority lent) {
  CpuMemory used = CpuMemory::of(view.metric->status.node_metric->system_usage.resources);
  for (const api::HostApplicationMetricInfo& application : view.metric->status.host_application_metric)
    if (rank(api::parse_koord_priority(application.priority.view())) > rank(lent))
      used += CpuMemory::of(application.usage.resources);
  return used;
}

CpuMemory reserved_of(const api::Node& node) {
  CpuMemory kept = max(CpuMemory::of(node.status.capacity) - allocatable_of(node), CpuMemory());
  const std::string_view text = api::value_or(node.metadata.annotations, "node.koordinator.sh/reservation");
  if (text.empty()) return kept;
  const auto document = json::parse(text);
  if (!document || !document->is_object()) return kept;
  CpuMemory wanted;
  for (const auto& [name, part] : {std::pair{"cpu", &wanted.cpu}, std::pair{"memory", &wanted.memory}})
    if (const json::Value* value = json::find(*document, "resources", name)) {
      auto quantity = quantity_of(*value);
      if (!quantity) return kept;  // an annotation that cannot be read keeps nothing, all of it
      *part = std::move(*quantity);
    }
  if (const std::string_view cpus = json::text_at(*document, "reservedCPUs"); !cpus.empty()) {
    const auto set = host::CpuSet::parse(cpus);
    if (!set) return kept;
    wanted.cpu = Quantity::from_int(set->size());
  }
  return max(kept, wanted);
}

CpuMemory batch_of(const ColocationStrategy& strategy, const Supply& supply, const Work& work) {
  const auto margin = [](const std::optional<std::int64_t>& threshold) {
    return (100 - static_cast<double>(threshold.value_or(0))) / 100;
  };
  const CpuMemory left =
      supply.total -
      CpuMemory{scaled_cpu(supply.total.cpu, margin(strategy.cpu_reclaim_threshold_percent)),
                scaled_memory(supply.total.memory, margin(strategy.memory_reclaim_threshold_percent))};
  CpuMemory lent = left - max(supply.system, supply.reserved);
  lent.cpu -= strategy.cpu_calculate_policy == "maxUsageRequest" ? work.high_larger.cpu : work.high_used.cpu;
  if (strategy.memory_calculate_policy == "request")
    lent.memory = left.memory - supply.reserved.memory - work.high_requests.memory;
  else
    lent.memory -= strategy.memory_calculate_policy == "maxUsageRequest" ? work.high_larger.memory
                                                                         : work.high_used.memory;
  lent = max(lent, CpuMemory());
  if (strategy.batch_cpu_threshold_percent)
    lent.cpu = std::min(lent.cpu, scaled_cpu(supply.total.cpu, share(strategy.batch_cpu_threshold_percent)));
  if (strategy.batch_memory_threshold_percent)
    lent.memory = std::min(
        lent.memory, scaled_memory(supply.total.memory, share(strategy.batch_memory_threshold_percent)));
  return lent;
}

std::chrono::seconds fresh_for(const ColocationStrategy& strategy) {
  constexpr std::int64_t kYear = std::int64_t{365} * 24 * 60;  // longer is for ever, and must not overflow
  return std::chrono::minutes(std::clamp<std::int64_t>(strategy.degrade_time_minutes.value_or(15), 0, kYear));
}

std::optional<std::string> stale(const NodeView& view) {
  if (view.metric == nullptr || !view.metric->status.update_time) return "there is no NodeMetric";
  const api::NodeMetricStatus& status = view.metric->status;
  const std::chrono::seconds limit = fresh_for(view.strategy);
  const auto age = view.now.at - status.update_time->at;
  if (age > limit) return fmt::format("NodeMetric is {} s old", age.count());
  if (age < -limit) return "NodeMetric is from the future";
  const api::ResourceList* const system =
      status.node_metric ? &status.node_metric->system_usage.resources : nullptr;
  if (system == nullptr || !system->contains("cpu") || !system->contains("memory"))
    return "NodeMetric does not say what the system uses";
  return std::nullopt;
}

OvercommitAmount batch_amount(const NodeView& view) {
  const CpuMemory lent = batch_of(view.strategy,
                                  {CpuMemory::of(view.node.status.capacity), reserved_of(view.node),
                                   system_used(view, KoordPriority::batch)},
                                  work_of(view));
  return {whole(lent.cpu.milli_value()), whole(lent.memory.value(), lent.memory.format())};
}

OvercommitAmount mid_amount(const NodeView& view) {
  const ColocationStrategy& strategy = view.strategy;
  const CpuMemory capacity = CpuMemory::of(view.node.status.capacity);
  const auto part = [](const CpuMemory& all, double of_cpu, double of_memory) {
    return CpuMemory{scaled_cpu(all.cpu, of_cpu), scaled_memory(all.memory, of_memory)};
  };
  CpuMemory lent;
  if (strategy.mid_reclaim_mode == "static") {
    lent = part(capacity, share(strategy.mid_static_cpu_reserved_percent),
                share(strategy.mid_static_memory_reserved_percent));
  } else {
    const api::NodeMetricStatus& status = view.metric->status;
    const api::ResourceList& usage = status.node_metric->node_usage.resources;
    if (status.prod_reclaimable_metric && usage.contains("cpu") && usage.contains("memory"))
      lent = min(CpuMemory::of(status.prod_reclaimable_metric->resource.resources),
                 max(capacity - CpuMemory::of(usage), CpuMemory()));
    if (const double of_unasked = share(strategy.mid_unallocated_percent); of_unasked > 0) {
      const CpuMemory kept = max(system_used(view, KoordPriority::mid), reserved_of(view.node));
      lent += part(max(capacity - kept - work_of(view).prod_requests, CpuMemory()), of_unasked, of_unasked);
    }
  }
  lent = min(lent, part(capacity, share(strategy.mid_cpu_threshold_percent),
                        share(strategy.mid_memory_threshold_percent)));
  return {whole(lent.cpu.milli_value()), whole(lent.memory.value(), Quantity::Format::binary_si)};
}

}  // namespace koord::manager
