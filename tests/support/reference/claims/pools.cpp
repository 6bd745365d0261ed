// Pools of devices: see pools.hpp.
#include "support/reference/claims/pools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "support/reference/matching.hpp"

namespace koord::reference {

namespace {

using Slices = std::vector<const api::ResourceSlice*>;

/// Of a slice, or of one of its devices.
template <class T>
bool is_for(const T& of, const api::Node& node) {
  if (of.node_name && !of.node_name->empty()) return of.node_name->view() == node.metadata.name;
  if (of.all_nodes.value_or(false)) return true;
  return of.node_selector && matches(*of.node_selector, node);
}

bool selects_nodes(const api::ResourceSliceSpec& spec) {
  return (spec.node_name && !spec.node_name->empty()) || spec.all_nodes.value_or(false) ||
         static_cast<bool>(spec.node_selector);
}

bool reaches(const api::ResourceSlice& slice, const ClaimGates& gates, const api::Node& node) {
  const api::ResourceSliceSpec& spec = slice.spec;
  if (!gates.partitions && (spec.per_device_node_selection || !spec.shared_counters.empty())) return false;
  if (!spec.shared_counters.empty()) return true;
  if (selects_nodes(spec)) return is_for(spec, node);
  return spec.per_device_node_selection.value_or(false) &&
         std::ranges::any_of(spec.devices, [&](const auto& device) { return is_for(device, node); });
}

void add_devices(const api::ResourceSlice& slice, const api::Node& node, std::vector<PoolDevice>& to) {
  for (const api::SliceDevice& device : slice.spec.devices)
    to.push_back(
        {&slice, &device,
         fmt::format("{}/{}/{}", slice.spec.driver.view(), slice.spec.pool.name.view(), device.name.view()),
         !slice.spec.per_device_node_selection.value_or(false) || is_for(device, node)});
}

/// A device that is listed twice, counters that are there twice or not at all.
bool contradicts_itself(const DevicePool& pool, const Slices& here, bool partitions) {
  std::set<std::string> names;
  for (const PoolDevice& each : pool.devices)
    if (!names.insert(each.device->name.str()).second) return true;
  if (!partitions) return false;
  std::set<std::string> sets;
  for (const api::ResourceSlice* slice : here)
    for (const api::CounterSet& set : slice->spec.shared_counters)
      if (!sets.insert(set.name.str()).second) return true;
  for (const auto* devices : {&pool.devices, &pool.elsewhere})
    for (const PoolDevice& each : *devices)
      for (const auto& consumed : each.device->consumes_counters) {
        const auto set = pool.counters.find(consumed.counter_set.str());
        if (set == pool.counters.end()) return true;
        for (const auto& [name, counter] : consumed.counters)
          if (!set->second.contains(name.str())) return true;
      }
  return false;
}

/// Absent: nothing of it reaches the node, or what does is void.
std::optional<DevicePool> pool_of(const Slices& slices, const ClaimGates& gates, const api::Node& node) {
  // A pool of other nodes alone is none of this one's.
  if (std::ranges::all_of(slices, [&](const api::ResourceSlice* slice) {
        const auto& name = slice->spec.node_name;
        return name && !name->empty() && name->view() != node.metadata.name;
      }))
    return std::nullopt;
  Slices here;
  for (const api::ResourceSlice* slice : slices)
    if (reaches(*slice, gates, node)) here.push_back(slice);
  if (here.empty()) return std::nullopt;
  const auto generation = [](const api::ResourceSlice* slice) { return slice->spec.pool.generation; };
  const std::int64_t newest = generation(*std::ranges::max_element(here, {}, generation));
  std::erase_if(here, [&](const auto* slice) { return generation(slice) != newest; });
  Slices all;
  bool replaced = false;
  for (const api::ResourceSlice* slice : slices) {
    if (generation(slice) == newest) all.push_back(slice);
    if (generation(slice) > newest) replaced = true;
  }
  const auto wanted = static_cast<std::size_t>(here.front()->spec.pool.resource_slice_count);
  DevicePool pool;
  if (here.size() != wanted) {
    if (replaced) return std::nullopt;
    if (all.size() != wanted) {
      pool.incomplete = true;
      return pool;
    }
  }
  for (const api::ResourceSlice* slice : here) {
    if (!gates.partitions || slice->spec.shared_counters.empty()) add_devices(*slice, node, pool.devices);
    for (const api::CounterSet& set : slice->spec.shared_counters)
      for (const auto& [name, counter] : set.counters)
        pool.counters[set.name.str()][name.str()] = counter.value;
  }
  if (gates.partitions && here.size() != wanted)
    for (const api::ResourceSlice* slice : all)
      if (std::ranges::find(here, slice) == here.end()) add_devices(*slice, node, pool.elsewhere);
  if (!contradicts_itself(pool, here, gates.partitions)) return pool;
  DevicePool invalid;
  invalid.invalid = true;
  return invalid;
}

}  // namespace

std::vector<DevicePool> pools_of(const Cluster& cluster, const ClaimGates& gates, const api::Node& node) {
  std::map<std::pair<std::string, std::string>, Slices> by_pool;  // their slices by name
  for (const auto& [name, slice] : cluster.slices)
    by_pool[{slice->spec.driver.str(), slice->spec.pool.name.str()}].push_back(slice.get());
  std::vector<DevicePool> pools;
  for (const auto& [id, slices] : by_pool)
    if (auto pool = pool_of(slices, gates, node)) pools.push_back(std::move(*pool));
  return pools;
}

}  // namespace koord::reference
