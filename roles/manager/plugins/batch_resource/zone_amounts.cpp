// Batch resources of NUMA nodes: see zone_amounts.hpp.
#include "plugins/batch_resource/zone_amounts.hpp"

#include <algorithm>

#include "framework/noderesource/work.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/json/value.hpp"
#include "plugins/batch_resource/batch_resource.hpp"

namespace koord::manager {
namespace {

using api::Quantity;

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
  const auto status = api::read_annotation<api::ResourceStatus>(pod.metadata.annotations);
  if (status && *status)
    for (const api::NumaNodeResource& one : (*status)->numa_node_resources)
      if (one.node >= 0 && static_cast<std::size_t>(one.node) < count)
        zones[static_cast<std::size_t>(one.node)] = true;
  if (std::ranges::find(zones, true) == zones.end()) zones.assign(count, true);
  return zones;
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

}  // namespace koord::manager
