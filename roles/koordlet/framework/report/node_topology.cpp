// NodeResourceTopology: see node_topology.hpp.
#include "framework/report/node_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "framework/model/first_cpus.hpp"
#include "framework/model/shared_pools.hpp"
#include "framework/objects/pod_info.hpp"
#include "framework/report/node_object.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::koordlet {

namespace {

using api::Quantity;

constexpr std::string_view kZoneType = "Node";

std::string cpu_basic_info(const NodeFacts& facts) {
  return api::encode_annotation(
      api::CpuBasicInfo{.cpu_model = facts.cpu_model.empty() ? "unknown" : facts.cpu_model,
                        .hyper_thread_enabled = facts.topology.smt_active,
                        .turbo_enabled = facts.turbo,
                        .cat_l3_cbm_mask = facts.l3_ways,
                        .vendor_id = facts.vendor_id.empty() ? "unknown" : facts.vendor_id});
}

std::string cpu_manager_policy(const host::Topology& topology, const KubeletConfig* config) {
  api::KubeletCpuManagerPolicy said;
  if (config != nullptr) {
    said.policy = config->cpu_policy;
    for (const auto& [name, value] : config->cpu_policy_options) said.options[name] = value;
    said.reserved_cpus = kubelet_reserved_cpus(topology, *config).to_string();
  }
  return api::encode_annotation(said);
}

std::string pools_text(const std::vector<SharedPool>& pools) {
  api::CpuSharedPools said;
  for (const SharedPool& pool : pools)
    said.pools.push_back({.socket = pool.socket, .node = pool.node, .cpuset = pool.cpus.to_string()});
  return api::encode_annotation(said);
}

std::string cpu_topology(const host::Topology& topology) {
  api::CpuTopology said;
  for (const host::CpuPlace& place : topology.cpus)
    said.detail.push_back({.id = place.cpu, .core = place.core, .socket = place.socket, .node = place.node});
  return api::encode_annotation(said);
}

/// Where the kubelet's policy is not static, or is not asked for, nobody is said to have anything.
std::string pod_allocations(const Inventory& inventory) {
  std::vector<KubeletAllocation> all;
  if (inventory.kubelet && inventory.kubelet->static_cpu_policy) all = kubelet_allocations(inventory);
  if (all.empty()) return "null";
  api::PodCpuAllocs said;
  for (const auto& [pod, grant] : all) {
    api::PodCpuAlloc& one = said.pods.emplace_back();
    if (pod != nullptr) {
      one.namespace_ = pod->ns;
      one.name = pod->name;
    }
    one.uid = grant->uid;
    one.cpuset = grant->cpus.to_string();
    one.managed_by_kubelet = true;
  }
  return api::encode_annotation(said);
}

/// With the CPUs that are kept in place of an amount. What cannot be read is nothing.
std::string reservation(const host::Topology& topology, const Inventory& inventory, const api::Node& node) {
  auto said = api::read_annotation<api::NodeReservation>(node.metadata.annotations);
  if (!said) return "{}";
  api::NodeReservation kept = std::move(*said).value_or(api::NodeReservation());
  kept.reserved_cpus = reserved_cpus(topology, inventory.node).to_string();
  return api::encode_annotation(kept);
}

std::string system_qos(const api::Node& node) {
  if (node.metadata.annotations.empty()) return "null";
  const auto said = api::read_annotation<api::SystemQosResource>(node.metadata.annotations);
  return said && *said ? api::encode_annotation(**said) : "{}";
}

/// What the kubelet keeps of a resource, for each of `parts` memory nodes, rounded up to thousandths.
std::int64_t kept_milli(const api::Node& node, std::string_view resource, std::int64_t parts) {
  const Quantity* const capacity = node.status.capacity.find(resource);
  const Quantity* const allocatable = node.status.allocatable.find(resource);
  if (capacity == nullptr || allocatable == nullptr || parts == 0) return 0;
  const std::int64_t kept = (*capacity - *allocatable).milli_value();
  return kept > 0 ? kept / parts + (kept % parts != 0 ? 1 : 0) : 0;
}

Quantity without(const Quantity& amount, std::int64_t milli) {
  if (milli == 0) return amount;
  const Quantity rest = amount - Quantity::from_milli(milli, amount.format());
  return rest.sign() < 0 ? Quantity::from_int(0, amount.format()) : rest;
}

/// Every amount is what may be allocated: upstream writes its capacities over with it, too, and scheduler and
/// manager read nothing else.
std::vector<api::TopologyZone> zones_of(const NodeFacts& facts, const api::Node& node, bool keep) {
  constexpr auto kBytes = Quantity::Format::binary_si;
  std::vector<api::TopologyZone> zones;
  const std::vector<host::NumaNode>& nodes = facts.topology.nodes;
  const auto memory_of = [&facts, &nodes](const host::NumaNode& numa) {
    if (facts.numa_memory.empty() && nodes.size() == 1) return facts.memory;  // a kernel without NUMA
    const auto at = std::ranges::find(facts.numa_memory, numa.id, &NumaMemory::id);
    return at != facts.numa_memory.end() ? at->total : 0;
  };
  const auto huge_of = [&facts, &nodes](const host::NumaNode& numa) {
    if (facts.numa_memory.empty() && nodes.size() == 1) return facts.huge;
    const auto at = std::ranges::find(facts.numa_memory, numa.id, &NumaMemory::id);
    return at != facts.numa_memory.end() ? at->huge : HugePages();
  };
  // Nodes without CPUs or without memory give nothing of what they have not.
  const auto with_cpus = std::ranges::count_if(nodes, [](const auto& numa) { return !numa.cpus.empty(); });
  const auto with_memory =
      std::ranges::count_if(nodes, [&](const auto& numa) { return memory_of(numa) > 0; });
  const std::int64_t kept_cpu = keep ? kept_milli(node, "cpu", with_cpus) : 0,
                     kept_memory = keep ? kept_milli(node, "memory", with_memory) : 0;
  for (const host::NumaNode& numa : nodes) {
    const HugePages huge = huge_of(numa);
    const auto amount = [](std::uint64_t bytes) {
      return Quantity::from_int(static_cast<std::int64_t>(bytes), kBytes);
    };
    const std::uint64_t total = memory_of(numa), small = total > huge.all() ? total - huge.all() : 0;
    api::TopologyZone zone{.name = Symbol(fmt::format("node-{}", numa.id)), .type = Symbol(kZoneType)};
    const auto add = [&zone](std::string_view name, const Quantity& amount) {
      zone.resources.push_back({Symbol(name), amount, amount, amount});
    };
    add("cpu", without(Quantity::from_int(numa.cpus.size()), kept_cpu));
    add("hugepages-1Gi", amount(huge.one_gib));
    add("hugepages-2Mi", amount(huge.two_mib));
    add("memory", without(amount(small), kept_memory));
    zones.push_back(std::move(zone));
  }
  std::ranges::sort(zones, {}, [](const api::TopologyZone& zone) { return zone.name.view(); });
  return zones;
}

bool same_json(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto one = json::parse(a), other = json::parse(b);
  return one && other && *one == *other;
}

bool same_amounts(const api::TopologyZone& object, const api::TopologyZone& wanted) {
  return std::ranges::all_of(wanted.resources, [&object](const api::TopologyResource& resource) {
    const auto at = std::ranges::find(object.resources, resource.name, &api::TopologyResource::name);
    return at != object.resources.end() && at->allocatable == resource.allocatable;
  });
}

json::Value* find_named(json::Value& list, std::string_view name) {
  for (json::Value& one : list.elements())
    if (json::text_at(one, "name") == name) return &one;
  return nullptr;
}

void write_zone(json::Value& entry, const api::TopologyZone& zone, json::Arena& arena) {
  json::set_text(entry, "name", zone.name, arena);
  json::set_text(entry, "type", zone.type, arena);
  json::Value& resources = json::array_at(entry, "resources", arena);
  for (const api::TopologyResource& resource : zone.resources) {
    json::Value* at = find_named(resources, resource.name);
    if (at == nullptr) at = &resources.push_back(json::Value::object(), arena);
    json::set_text(*at, "name", resource.name, arena);
    json::set_text(*at, "capacity", resource.capacity.to_string(), arena);
    json::set_text(*at, "allocatable", resource.allocatable.to_string(), arena);
    json::set_text(*at, "available", resource.available.to_string(), arena);
  }
  std::ranges::sort(resources.elements(), {},
                    [](const json::Value& one) { return json::text_at(one, "name"); });
}

}  // namespace

host::CpuSet kubelet_reserved_cpus(const host::Topology& topology, const KubeletConfig& config) {
  if (!config.static_cpu_policy) return {};
  if (!config.reserved_cpus.empty()) {
    const auto named = host::CpuSet::parse(config.reserved_cpus);
    return named && named->is_subset_of(topology.online) ? *named : host::CpuSet();
  }
  const int count = static_cast<int>((config.reserved_milli.value_or(0) + 999) / 1000);
  return first_cpus(topology, topology.online, count).value_or(host::CpuSet());
}

std::string_view topology_policy(std::string_view policy, std::string_view scope) {
  struct Row {
    std::string_view policy, of_container, of_pod;
  };
  constexpr Row kRows[] = {
      {"single-numa-node", "SingleNUMANodeContainerLevel", "SingleNUMANodePodLevel"},
      {"restricted", "RestrictedContainerLevel", "RestrictedPodLevel"},
      {"best-effort", "BestEffortContainerLevel", "BestEffortPodLevel"},
  };
  for (const Row& row : kRows) {
    if (row.policy == policy && scope == "container") return row.of_container;
    if (row.policy == policy && scope == "pod") return row.of_pod;
  }
  return "None";
}

NodeTopology node_topology(const NodeFacts& facts, const Inventory& inventory, const api::Node& node) {
  const KubeletConfig* const config = inventory.kubelet.get();
  const SharedPools pools = shared_pools(facts.topology, inventory);
  NodeTopology all;
  all.annotations = {
      cpu_basic_info(facts),
      cpu_manager_policy(facts.topology, config),
      pools_text(pools.ls),
      pools_text(pools.be),
      cpu_topology(facts.topology),
      pod_allocations(inventory),
      reservation(facts.topology, inventory, node),
      system_qos(node),
  };
  all.numa_reservation = api::value_or(node.metadata.labels, api::kEnableNumaReservation);
  all.policy = config != nullptr ? topology_policy(config->topology_policy, config->topology_scope) : "None";
  all.zones = zones_of(facts, node, all.numa_reservation == "true");
  return all;
}

std::string_view stale_part(const api::NodeResourceTopology& object, const NodeTopology& wanted) {
  if (object.topology_policies.size() != 1 || object.topology_policies[0] != wanted.policy)
    return "topologyPolicies";
  for (std::size_t i = 0; i < kTopologyAnnotations.size(); ++i) {
    const Symbol* const text = object.metadata.annotations.find(kTopologyAnnotations[i]);
    if (text == nullptr || !same_json(*text, wanted.annotations[i])) return kTopologyAnnotations[i];
  }
  if (api::value_or(object.metadata.labels, api::kEnableNumaReservation) != wanted.numa_reservation)
    return api::kEnableNumaReservation;
  const bool same = std::ranges::equal(object.zones, wanted.zones, [](const auto& is, const auto& should) {
    return is.name == should.name && is.type == should.type && same_amounts(is, should);
  });
  return same ? "" : "zones";
}

void write_topology(json::Document& document, const NodeTopology& wanted) {
  json::Arena& arena = document.arena();
  json::Value& meta = json::object_at(document, "metadata", arena);
  json::Value& annotations = json::object_at(meta, "annotations", arena);
  for (std::size_t i = 0; i < kTopologyAnnotations.size(); ++i)
    json::set_text(annotations, kTopologyAnnotations[i], wanted.annotations[i], arena);
  if (wanted.numa_reservation.empty()) {
    if (json::Value* labels = json::find(meta, "labels")) json::remove(*labels, api::kEnableNumaReservation);
  } else {
    json::set_text(json::object_at(meta, "labels", arena), api::kEnableNumaReservation,
                   wanted.numa_reservation, arena);
  }
  json::array_at(document, "topologyPolicies", arena).set_array();
  json::find(document, "topologyPolicies")->push_back(json::make_text(wanted.policy, arena), arena);
  json::Value before = std::move(json::array_at(document, "zones", arena));
  json::Value zones = json::Value::array();
  for (const api::TopologyZone& zone : wanted.zones) {
    json::Value* const old = find_named(before, zone.name);
    json::Value entry = old != nullptr ? std::move(*old) : json::Value::object();
    write_zone(entry, zone, arena);
    zones.push_back(std::move(entry), arena);
  }
  json::set(document, "zones", std::move(zones), arena);
}

std::string new_topology(const NodeTopology& wanted, const api::Node& node) {
  std::string text;
  json::Writer json(text);
  json.begin_object()
      .member("apiVersion", "topology.node.k8s.io/v1alpha1")
      .member("kind", "NodeResourceTopology");
  write_owned_metadata(json, node, "Koordinator");
  json.end_object();
  auto document = json::parse(text);
  write_topology(*document, wanted);
  return json::to_text(*document);
}

}  // namespace koord::koordlet
