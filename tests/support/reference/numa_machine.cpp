// A machine's CPUs and memory nodes: see numa_machine.hpp.
#include "support/reference/numa_machine.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/node.hpp"

namespace koord::reference {

namespace {

/// Nothing where it cannot be read.
template <class T>
std::optional<T> said(const api::SymbolMap& annotations) {
  auto read = api::read_annotation<T>(annotations);
  return read ? *read : std::nullopt;
}

std::optional<int> number(std::string_view text) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 0) return std::nullopt;
  return n;
}

void keep_back(Cpus& reserved, std::string_view list) {
  if (const auto cpus = parse_cpus(list)) reserved.insert(cpus->begin(), cpus->end());
}

std::string kubelet_policy(const std::vector<Symbol>& policies) {
  for (const Symbol& policy : policies) {
    if (policy == "BestEffort" || policy == "Restricted") return policy.str();
    if (policy == "SingleNUMANodePodLevel") return "SingleNUMANode";
  }
  return "";
}

}  // namespace

std::optional<Cpus> parse_cpus(std::string_view list) {
  Cpus cpus;
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), part.size() + 1));
    const std::size_t dash = part.find('-');
    const auto first = number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *first > *last) return std::nullopt;
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.insert(cpu);
  }
  return cpus;
}

Cpus without(const Cpus& a, const Cpus& b) {
  Cpus left;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(left, left.end()));
  return left;
}
Cpus common(const Cpus& a, const Cpus& b) {
  Cpus both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

std::int64_t whole_amount(const api::ResourceList& list, std::string_view name) {
  const api::Quantity* q = list.find(name);
  return q == nullptr ? 0 : name == "cpu" ? q->milli_value() : q->value();
}

std::int64_t amplify(std::int64_t amount, double ratio) {
  return ratio > 1 ? static_cast<std::int64_t>(std::ceil(static_cast<double>(amount) * ratio)) : amount;
}

std::optional<NumaGift> gift_of(const api::Pod& pod) {
  const auto status = said<api::ResourceStatus>(pod.metadata.annotations);
  const auto spec = api::read_annotation<api::ResourceSpec>(pod.metadata.annotations);
  if (!status || !spec) return std::nullopt;
  const auto cpus = parse_cpus(status->cpuset);
  if (!cpus || (cpus->empty() && status->numa_node_resources.empty())) return std::nullopt;
  NumaGift gift{*cpus, {}, {}};
  if (*spec) {
    const Symbol& level = (*spec)->preferred_cpu_exclusive_policy;
    if (level == "PCPULevel" || level == "NUMANodeLevel") gift.exclusive = level.str();
  }
  for (const api::NumaNodeResource& zone : status->numa_node_resources)
    for (const auto& [name, amount] : zone.resources)
      gift.zones[zone.node][name.str()] += whole_amount(zone.resources, name);
  return gift;
}

Machine::Machine(const Cluster& cluster, const api::Node& node) {
  const api::ObjectMeta& meta = node.metadata;
  const auto at = cluster.topologies.find(meta.name);
  const api::NodeResourceTopology* const topology =
      at != cluster.topologies.end() ? at->second.get() : nullptr;
  reported = topology != nullptr;

  const std::string_view label = api::value_or(meta.labels, api::kCpuBindPolicyLabel);
  if (label == "FullPCPUsOnly") bind = "FullPCPUs";
  if (label == "SpreadByPCPUs") bind = "SpreadByPCPUs";
  policy = api::value_or(meta.labels, api::kNumaTopologyPolicyLabel);
  // What nobody knows is none.
  if (policy != "BestEffort" && policy != "Restricted" && policy != "SingleNUMANode") policy.clear();
  strategy = api::value_or(meta.labels, api::kNumaAllocateStrategyLabel);

  const auto of_node = api::read_annotation<api::AmplificationRatios>(meta.annotations);
  ratio_is_wrong = zone_ratio_is_wrong = of_node.has_error();
  std::map<std::string, double> ratios;
  if (of_node && *of_node)
    for (const auto& [name, ratio] : (*of_node)->ratios) ratios[std::string(name)] = ratio;
  if (ratios.contains("cpu")) cpu_ratio = ratios["cpu"];

  bool amplified_already = false;
  if (topology != nullptr) {
    read_cpus(*topology);
    const auto& annotations = topology->metadata.annotations;
    if (const auto kubelet = said<api::KubeletCpuManagerPolicy>(annotations)) {
      const auto& options = kubelet->options;
      if (kubelet->policy == "static" && api::value_or(options, "full-pcpus-only") == "true")
        bind = "FullPCPUs";
    }
    if (policy.empty()) policy = kubelet_policy(topology->topology_policies);
    read_zones(*topology);
    if (const auto own = said<api::AmplificationRatios>(annotations)) {
      amplified_already = true;
      zone_ratio_is_wrong = false;
      ratios.clear();
      for (const auto& [name, ratio] : own->ratios) ratios[std::string(name)] = ratio;
    }
  }
  if (ratios.contains("cpu")) zone_ratio = ratios["cpu"];
  if (!amplified_already)
    for (auto& [zone, amounts] : zones)
      for (auto& [name, amount] : amounts)
        if (ratios.contains(name)) amount = amplify(amount, ratios[name]);

  for (const auto& [key, pod] : cluster.pods) {
    if (pod->spec.node_name != meta.name) continue;
    const auto gift = gift_of(*pod);
    if (!gift) continue;
    given[key] = *gift;
    for (const auto& [zone, amounts] : gift->zones)
      for (const auto& [name, amount] : amounts) given_of_zones[zone][name] += amount;
    Cpus& alone = gift->exclusive == "PCPULevel" ? alone_on_core : alone_on_zone;
    if (!gift->exclusive.empty()) alone.insert(gift->cpus.begin(), gift->cpus.end());
    std::set<int> on;
    for (const int cpu : gift->cpus)
      if (cpus.contains(cpu)) on.insert(cpus.at(cpu).zone);
    (on.size() > 1 ? shared : single).insert(on.begin(), on.end());
  }
  // Where both are it is shared.
  for (const int zone : shared) single.erase(zone);
}

void Machine::read_cpus(const api::NodeResourceTopology& topology) {
  const auto& annotations = topology.metadata.annotations;
  if (const auto list = said<api::CpuTopology>(annotations)) {
    std::set<int> sockets;
    std::set<std::pair<int, int>> zones_there;
    std::set<std::pair<int, std::int64_t>> cores;
    for (const api::CpuInfo& cpu : list->detail) {
      const std::int64_t core = std::int64_t{cpu.socket} << 16 | cpu.core;
      cpus[cpu.id] = {core, cpu.node, cpu.socket};
      sockets.insert(cpu.socket);
      zones_there.emplace(cpu.socket, cpu.node);
      cores.emplace(cpu.node, core);
    }
    const auto share = [&](std::size_t n) {
      return n == 0 ? 0 : static_cast<int>(cpus.size()) / static_cast<int>(n);
    };
    per_core = share(cores.size());
    per_zone = share(zones_there.size());
    per_socket = share(sockets.size());
  }
  if (const auto pods = said<api::PodCpuAllocs>(annotations))
    for (const api::PodCpuAlloc& pod : pods->pods)
      if (pod.managed_by_kubelet && !pod.uid.empty()) keep_back(reserved, pod.cpuset);
  if (const auto kubelet = said<api::KubeletCpuManagerPolicy>(annotations))
    keep_back(reserved, kubelet->reserved_cpus);
  if (const auto kept = said<api::NodeReservation>(annotations)) keep_back(reserved, kept->reserved_cpus);
  if (const auto system = said<api::SystemQosResource>(annotations);
      system && system->cpuset_exclusive.value_or(true))
    keep_back(reserved, system->cpuset);
}

void Machine::read_zones(const api::NodeResourceTopology& topology) {
  for (const api::TopologyZone& zone : topology.zones) {
    if (zone.type != "Node" || !zone.name.view().starts_with("node-")) continue;
    const auto id = number(zone.name.view().substr(5));
    if (!id) continue;
    auto& amounts = zones[*id];
    for (const api::TopologyResource& resource : zone.resources) {
      const bool cpu = resource.name == "cpu";
      std::int64_t amount = cpu ? resource.allocatable.milli_value() : resource.allocatable.value();
      if (cpu) amount -= 1000 * static_cast<std::int64_t>(common(of_zone(*id), reserved).size());
      amounts[resource.name.str()] = std::max<std::int64_t>(amount, 0);
    }
  }
}

Cpus Machine::all() const {
  Cpus ids;
  for (const auto& [id, place] : cpus) ids.insert(id);
  return ids;
}
Cpus Machine::of_zone(int zone) const {
  Cpus ids;
  for (const auto& [id, place] : cpus)
    if (place.zone == zone) ids.insert(id);
  return ids;
}
Cpus Machine::taken() const {
  Cpus ids;
  for (const auto& [pod, gift] : given) ids.insert(gift.cpus.begin(), gift.cpus.end());
  return ids;
}

bool Machine::knows(const std::string& resource) const {
  return std::any_of(zones.begin(), zones.end(), [&](auto& zone) { return zone.second.contains(resource); });
}
std::int64_t Machine::has_of(int zone, const std::string& resource) const {
  const auto of = zones.find(zone);
  if (of == zones.end()) return 0;
  const auto amount = of->second.find(resource);
  return amount == of->second.end() ? 0 : amount->second;
}
std::int64_t Machine::allocated(int zone, const std::string& resource) const {
  const auto of = given_of_zones.find(zone);
  if (of == given_of_zones.end()) return 0;
  const auto amount = of->second.find(resource);
  std::int64_t sum = amount != of->second.end() ? amount->second : 0;
  // As in Koordinator: of a memory node of which nobody has a share, whole CPUs take nothing.
  const bool has_shares = std::any_of(of->second.begin(), of->second.end(),
                                      [&](auto& share) { return share.second != 0 && knows(share.first); });
  if (resource == "cpu" && zone_ratio > 1 && has_shares) {
    const auto whole = 1000 * static_cast<std::int64_t>(common(taken(), of_zone(zone)).size());
    sum += amplify(whole, zone_ratio) - whole;
  }
  return sum;
}

}  // namespace koord::reference
