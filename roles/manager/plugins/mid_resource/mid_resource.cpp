// Mid resources: see mid_resource.hpp.
#include "plugins/mid_resource/mid_resource.hpp"

#include "framework/noderesource/node_update.hpp"
#include "framework/noderesource/work.hpp"
#include "koord/api/koordinator/classes.hpp"

namespace koord::manager {
namespace {

using api::KoordPriority;
using api::Quantity;

constexpr std::string_view kResources[] = {api::kMidCpu, api::kMidMemory};

double share(const std::optional<std::int64_t>& percent) {
  return static_cast<double>(percent.value_or(0)) / 100;
}

Result<PluginStage> plan_mid(NodeDraft& draft) {
  std::optional<OvercommitAmount> amount;
  if (draft.lends()) amount = draft.lowered(mid_amount(draft.view));
  set_mid(draft.plan.after, amount);
  draft.plan.overcommit.push_back({api::kMidCpu, api::kMidMemory, amount});
  return draft.stage();
}

}  // namespace

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
  return {from_zero(lent.cpu.milli_value()), from_zero(lent.memory.value(), Quantity::Format::binary_si)};
}

void set_mid(api::Node& node, const std::optional<OvercommitAmount>& amount) {
  set_amount(node, api::kMidCpu, amount ? std::optional(amount->cpu) : std::nullopt);
  set_amount(node, api::kMidMemory, amount ? std::optional(amount->memory) : std::nullopt);
}

extern const ResourcePlugin kMidResource{
    .name = "MidResource",
    .resources = kResources,
    .make = [](const FeatureGates&) -> ResourcePluginRun { return &plan_mid; },
};

}  // namespace koord::manager
