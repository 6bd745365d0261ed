// CpuTopology: see cpu_topology.hpp.
#include "scheduling/plugins/node_numa_resource/cpu_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace koord::scheduling::node_numa_resource {

namespace {

template <class T>
std::uint16_t place_in(const std::vector<T>& sorted, const T& value) {
  return static_cast<std::uint16_t>(std::ranges::lower_bound(sorted, value) - sorted.begin());
}

template <class Range>
void sort_once(Range& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

CpuTopology::CpuTopology(const api::CpuTopology& reported) {
  std::map<int, const api::CpuInfo*> of;
  std::optional<std::int32_t> beyond, twice;
  for (const api::CpuInfo& cpu : reported.detail) {
    if (cpu.id < 0 || cpu.id > CpuSet::kMaxCpu) {
      beyond = cpu.id;
    } else if (!of.insert_or_assign(cpu.id, &cpu).second) {
      twice = cpu.id;
    }
  }
  if (beyond)
    defect_ = fmt::format("detail has a CPU {}, expected 0 to {}: it is left out", *beyond, CpuSet::kMaxCpu);
  if (twice)
    defect_ += fmt::format("{}detail has the CPU {} twice: the later entry counts",
                           defect_.empty() ? "" : "; ", *twice);
  if (of.empty()) return;

  std::vector<std::pair<std::int32_t, std::int32_t>> cores;  // socket and number
  std::vector<std::int32_t> zones;
  std::set<std::tuple<std::int32_t, std::int32_t, std::int32_t>> counted;
  std::set<std::pair<std::int32_t, std::int32_t>> zones_of_sockets;
  for (const auto& [id, cpu] : of) {
    cores.emplace_back(cpu->socket, cpu->core);
    zones.push_back(cpu->node);
    sockets_.push_back(cpu->socket);
    counted.emplace(cpu->socket, cpu->node, cpu->core);
    zones_of_sockets.emplace(cpu->socket, cpu->node);
    all_.add(id);
  }
  sort_once(cores);
  sort_once(zones);
  sort_once(sockets_);
  core_count_ = counted.size();
  zone_count_ = zones_of_sockets.size();

  places_.resize(static_cast<std::size_t>(of.rbegin()->first) + 1);
  cores_.resize(cores.size());
  for (const std::int32_t id : zones) zones_.push_back({.id = id, .socket = 0, .cpus = {}});
  for (const auto& [id, cpu] : of) {
    Place& place = places_[static_cast<std::size_t>(id)];
    place = {place_in(cores, {cpu->socket, cpu->core}), place_in(zones, cpu->node),
             place_in(sockets_, cpu->socket)};
    by_core_.push_back(static_cast<std::uint16_t>(id));
    Core& core = cores_[place.core];
    if (core.size++ == 0) core = {cpu->core, place.zone, place.socket, 0, 1};
    Zone& zone = zones_[place.zone];
    if (zone.cpus.empty()) zone.socket = place.socket;
    zone.cpus.add(id);
  }
  std::ranges::stable_sort(by_core_, {}, [&](std::uint16_t cpu) { return places_[cpu].core; });
  std::uint16_t first = 0;
  for (Core& core : cores_) first = static_cast<std::uint16_t>((core.first = first) + core.size);
}

CpuTopology CpuTopology::unread(std::string why) {
  CpuTopology nothing;
  nothing.defect_ = std::move(why);
  return nothing;
}

const CpuTopology::Zone* CpuTopology::zone(std::int32_t id) const {
  const auto it = std::ranges::lower_bound(zones_, id, {}, &Zone::id);
  return it != zones_.end() && it->id == id ? &*it : nullptr;
}

}  // namespace koord::scheduling::node_numa_resource
