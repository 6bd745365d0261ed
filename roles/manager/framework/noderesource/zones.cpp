// Batch resources of NUMA nodes: see zones.hpp.
#include "framework/noderesource/zones.hpp"

#include <algorithm>

#include "framework/noderesource/cpu_memory.hpp"
#include "framework/noderesource/node_update.hpp"
#include "framework/noderesource/work.hpp"
#include "koord/api/rules/koord_classes.hpp"
#include "koord/json/value.hpp"

namespace koord::manager {
namespace {

using api::Quantity;

constexpr std::string_view kResourceStatus = "scheduling.koordinator.sh/resource-status";

CpuMemory total_of(const api::TopologyZone& zone) {
  CpuMemory total;
  for (const api::TopologyResource& resource : zone.resources) {
    if (resource.name.view() == "cpu") total.cpu = resource.allocatable;
    if (resource.name.view() == "memory") total.memory = resource.allocatable;
  }
  return total;
}

/// Where a pod is, by zone. One that says nothing of it, or nothing that is there, is everywhere.
std::vector<bool> zones_of(const api::Pod& pod, std::size_t count) {
  std::vector<bool> zones(count, false);
  const std::string_view text = api::value_or(pod.metadata.annotations, kResourceStatus);
  if (const auto status = json::parse(text); !text.empty() && status)
    if (const json::Value* list = json::find(*status, "numaNodeResources"); list && list->is_array())
      for (const json::Value& one : list->elements()) {
        const std::int64_t zone = json::int_at(one, "node").value_or(0);
        if (zone >= 0 && zone < static_cast<std::int64_t>(count))
          zones[static_cast<std::size_t>(zone)] = true;
      }
  if (std::ranges::find(zones, true) == zones.end()) zones.assign(count, true);
  return zones;
}

/// The entry of that name, in its place by name.
api::TopologyResource& entry_of(api::TopologyZone& zone, std::string_view name, bool& added) {
  const auto at = std::ranges::find(zone.resources, name, [](const auto& r) { return r.name.view(); });
  added = at == zone.resources.end();
  if (!added) return *at;
  zone.resources.push_back({.name = Symbol(name)});
  std::ranges::sort(zone.resources, {}, [](const auto& r) { return r.name.view(); });
  return *std::ranges::find(zone.resources, name, [](const auto& r) { return r.name.view(); });
}

bool write(api::TopologyZone& zone, std::string_view name, const Quantity& amount, double share) {
  bool added = false;
  api::TopologyResource& entry = entry_of(zone, name, added);
  bool changed = added;
  for (Quantity* part : {&entry.capacity, &entry.allocatable, &entry.available})
    if (added || is_worth(*part, amount, share)) {
      *part = amount;
      changed = true;
    }
  return changed;
}

bool empty(api::TopologyZone& zone) {
  bool changed = false;
  for (api::TopologyResource& entry : zone.resources) {
    if (entry.name.view() != api::kBatchCpu && entry.name.view() != api::kBatchMemory) continue;
    for (Quantity* part : {&entry.capacity, &entry.allocatable, &entry.available}) {
      changed |= !part->is_zero();
      *part = Quantity::from_int(0, part->format());
    }
  }
  return changed;
}

}  // namespace

bool has_zones(const api::NodeResourceTopology& topology) {
  return std::ranges::any_of(topology.zones, [](const api::TopologyZone& zone) {
    return std::ranges::any_of(zone.resources, [](const api::TopologyResource& resource) {
      return resource.name.view() == "cpu" || resource.name.view() == "memory";
    });
  });
}

ZoneAmounts zone_amounts(const NodeView& view, const api::NodeResourceTopology& topology) {
  const std::size_t count = topology.zones.size();
  std::vector<Work> work(count);
  const auto add = [&work](const std::vector<bool>& zones, CpuMemory Work::*to, const CpuMemory& amount) {
    const CpuMemory part = part_of(amount, static_cast<std::size_t>(std::ranges::count(zones, true)));
    for (std::size_t i = 0; i < zones.size(); ++i)
      if (zones[i]) work[i].*to += part;
  };
  const std::vector<bool> everywhere(count, true);
  for_each_pod(view, [&](const PodWork& pod) {
    if (pod.low) return;
    const std::vector<bool> zones = pod.pod ? zones_of(*pod.pod, count) : everywhere;
    if (pod.pod) add(zones, &Work::high_requests, pod.requests);
    add(zones, &Work::high_used, pod.counted);
    add(zones, &Work::high_larger, pod.larger);
  });
  const CpuMemory reserved = part_of(reserved_of(view.node), count),
                  system = part_of(system_used(view, api::KoordPriority::batch), count);
  ZoneAmounts amounts;
  for (std::size_t i = 0; i < count; ++i) {
    const CpuMemory lent = batch_of(view.strategy, {total_of(topology.zones[i]), reserved, system}, work[i]);
    amounts.push_back({Quantity::from_int(lent.cpu.milli_value()), lent.memory});
  }
  return amounts;
}

std::optional<api::NodeResourceTopology> with_zone_amounts(const api::NodeResourceTopology& topology,
                                                           const ZoneAmounts& amounts, double ratio,
                                                           double share) {
  api::NodeResourceTopology after = topology;
  bool changed = false;
  for (std::size_t i = 0; i < after.zones.size(); ++i) {
    api::TopologyZone& zone = after.zones[i];
    if (i >= amounts.size()) {
      changed |= empty(zone);
      continue;
    }
    const Quantity cpu = ratio > 1 ? scaled_cpu(amounts[i].cpu, ratio) : amounts[i].cpu;
    changed |= write(zone, api::kBatchCpu, cpu, share);
    changed |= write(zone, api::kBatchMemory, amounts[i].memory, share);
  }
  if (!changed) return std::nullopt;
  return after;
}

std::optional<api::NodeResourceTopology> without_zone_amounts(const api::NodeResourceTopology& topology) {
  api::NodeResourceTopology after = topology;
  std::size_t gone = 0;
  for (api::TopologyZone& zone : after.zones)
    gone += std::erase_if(zone.resources, [](const api::TopologyResource& entry) {
      return entry.name.view() == api::kBatchCpu || entry.name.view() == api::kBatchMemory;
    });
  if (gone == 0) return std::nullopt;
  return after;
}

}  // namespace koord::manager
