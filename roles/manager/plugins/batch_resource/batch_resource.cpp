// Batch resources: see batch_resource.hpp.
#include "plugins/batch_resource/batch_resource.hpp"

#include "framework/noderesource/node_update.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/node.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "plugins/batch_resource/zone_amounts.hpp"

namespace koord::manager {
namespace {

using api::Quantity;

constexpr std::string_view kResources[] = {api::kBatchCpu, api::kBatchMemory},
                           kStatusAnnotations[] = {kOriginExtended};

double share(const std::optional<std::int64_t>& percent) {
  return static_cast<double>(percent.value_or(0)) / 100;
}

/// What others have taken of a batch resource.
Quantity taken(const api::ThirdPartyAllocations& all, std::string_view resource) {
  Quantity sum;
  for (const api::ThirdPartyAllocation& one : all.allocations) {
    if (one.priority != to_string(api::KoordPriority::batch)) continue;
    const Quantity* const amount = one.resources.find(resource);
    if (amount != nullptr && amount->sign() > 0) sum += *amount;
  }
  return sum;
}

/// Other resources in the annotation stay: somebody else's.
void note_origin(api::Node& node, const OvercommitAmount& lent) {
  json::Document origin;
  const std::string_view before = api::value_or(node.metadata.annotations, kOriginExtended);
  if (before.empty() || !origin.read(before) || !origin.is_object()) origin.set_object();
  json::Value& resources = json::object_at(origin, "resources", origin.arena());
  json::set_text(resources, api::kBatchCpu, lent.cpu.to_string(), origin.arena());
  json::set_text(resources, api::kBatchMemory, lent.memory.to_string(), origin.arena());
  node.metadata.annotations[kOriginExtended] = Symbol(json::to_text(origin));
}

void subtract_third_party(api::Node& node, const OvercommitAmount& lent) {
  const auto all = api::read_annotation<api::ThirdPartyAllocations>(node.metadata.annotations);
  if (!all || !*all) return;  // what cannot be read takes nothing
  const Quantity cpu = taken(**all, api::kBatchCpu), memory = taken(**all, api::kBatchMemory);
  const auto rest = [](const Quantity& all, const Quantity& gone) {
    return std::max(all - gone, Quantity());
  };
  set_amount(node, api::kBatchCpu, Quantity::from_int(rest(lent.cpu, cpu).value(), lent.cpu.format()));
  set_amount(node, api::kBatchMemory,
             Quantity::from_int(rest(lent.memory, memory).value(), lent.memory.format()));
}

Result<PluginStage> plan_batch(NodeDraft& draft) {
  NodePlan& plan = draft.plan;
  std::optional<OvercommitAmount> amount;
  if (draft.lends()) amount = draft.lowered(batch_amount(draft.view));
  set_batch(plan.after, amount, plan.ratio);
  plan.overcommit.push_back({api::kBatchCpu, api::kBatchMemory, amount});
  ZoneAmounts& zones = plan.zones.emplace();
  const api::NodeResourceTopology* const topology = draft.facts.topology;
  if (draft.lends() && topology != nullptr && has_zones(*topology)) {
    zones = zone_amounts(draft.view, *topology);
    for (OvercommitAmount& zone : zones) zone = draft.lowered(zone);
  }
  return draft.stage();
}

}  // namespace

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

OvercommitAmount batch_amount(const NodeView& view) {
  const CpuMemory lent = batch_of(view.strategy,
                                  {CpuMemory::of(view.node.status.capacity), reserved_of(view.node),
                                   system_used(view, api::KoordPriority::batch)},
                                  work_of(view));
  return {from_zero(lent.cpu.milli_value()), from_zero(lent.memory.value(), lent.memory.format())};
}

void set_batch(api::Node& node, const std::optional<OvercommitAmount>& amount, double ratio) {
  std::optional<OvercommitAmount> written = amount;
  if (written && ratio > 1) written->cpu = Quantity::from_int(scaled_cpu(written->cpu, ratio).value());
  set_amount(node, api::kBatchCpu, written ? std::optional(written->cpu) : std::nullopt);
  set_amount(node, api::kBatchMemory, written ? std::optional(written->memory) : std::nullopt);
  if (written || node.metadata.annotations.contains(kOriginExtended))
    note_origin(node, written.value_or(OvercommitAmount()));
  if (written) subtract_third_party(node, *written);
}

extern const ResourcePlugin kBatchResource{
    .name = "BatchResource",
    .resources = kResources,
    .status_annotations = kStatusAnnotations,
    .make = [](const FeatureGates&) -> ResourcePluginRun { return &plan_batch; },
};

}  // namespace koord::manager
