// Zones with what they lend: see zones.hpp.
#include "framework/noderesource/zones.hpp"

#include <algorithm>

#include "framework/noderesource/cpu_memory.hpp"
#include "framework/noderesource/node_update.hpp"
#include "koord/api/koordinator/classes.hpp"

namespace koord::manager {
namespace {

using api::Quantity;

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
