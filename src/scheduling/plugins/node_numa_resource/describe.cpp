// A node's CPUs and memory nodes as JSON: see describe.hpp.
#include "scheduling/plugins/node_numa_resource/describe.hpp"

#include <algorithm>
#include <string>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/json/writer.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "scheduling/plugins/node_numa_resource/room.hpp"

namespace koord::scheduling::node_numa_resource {

namespace {

std::string quantity(const Symbol& name, std::int64_t amount) {
  if (name == cpu_name()) return api::Quantity::from_milli(amount).to_string();
  const bool bytes = name == "memory" || name.view().starts_with("hugepages-");
  return api::Quantity::from_int(amount,
                                 bytes ? api::Quantity::Format::binary_si : api::Quantity::Format::decimal_si)
      .to_string();
}

class Description {
 public:
  Description(const NumaNodes::OfRow& of, json::Writer& json)
      : of_(of), node_(of.node), topology_(*node_.topology), json_(json) {}

  void write(std::string_view name) {
    json_.begin_object();
    json_.member("name", name);
    write_topology();
    json_.member("reservedCPUs", topology_.reserved.to_string());
    json_.key("maxRefCount");
    json_.value(std::int64_t{1});
    if (!topology_.kubelet_policy.empty()) write_kubelet();
    json_.member("numaTopologyPolicy", to_string(node_.policy));
    const Demand nobody;
    const Room room(node_, of_.ledger, nobody, {});
    zones("numaNodeResources", [&](std::size_t z, std::size_t r) { return room.total(z, r); });
    if (!node_.ratios.empty()) {
      json_.key("amplificationRatios");
      json_.begin_object();
      for (const auto& [resource, ratio] : node_.ratios) json_.member(resource.view(), ratio);
      json_.end_object();
    }
    zones("remainingNUMANodeResources", [&](std::size_t z, std::size_t r) {
      return std::max<std::int64_t>(room.total(z, r) - room.taken(z, r), 0);
    });
    zones("allocatedNUMANodeResources", [&](std::size_t z, std::size_t r) { return room.taken(z, r); });
    json_.member("availableCPUs",
                 (topology_.cpus->all() - of_.ledger.taken() - topology_.reserved).to_string());
    json_.key("allocatedCPUs");
    details(of_.ledger.taken() & topology_.cpus->all());
    write_pods();
    json_.end_object();
  }

 private:
  void number(std::string_view key, std::int64_t value) {
    json_.key(key);
    json_.value(value);
  }
  void write_topology() {
    const CpuTopology& cpus = *topology_.cpus;
    json_.key("cpuTopology");
    json_.begin_object();
    number("numCPUs", cpus.cpus());
    number("numCores", static_cast<std::int64_t>(cpus.core_count()));
    number("numNodes", static_cast<std::int64_t>(cpus.zone_count()));
    number("numSockets", static_cast<std::int64_t>(cpus.sockets().size()));
    json_.key("cpuDetails");
    details(cpus.all());
    json_.end_object();
  }
  void details(const CpuSet& of) {
    const CpuTopology& cpus = *topology_.cpus;
    const auto refs = of_.ledger.refs();
    json_.begin_object();
    for (const int cpu : of.cpus()) {
      const CpuTopology::Place& at = cpus.place(cpu);
      json_.key(std::to_string(cpu));
      json_.begin_object();
      number("cpuID", cpu);
      number("coreID", cpus.core_id(at.core));
      number("nodeID", cpus.zones()[at.zone].id);
      number("socketID", cpus.sockets()[at.socket]);
      number("refCount",
             static_cast<std::size_t>(cpu) < refs.size() ? refs[static_cast<std::size_t>(cpu)] : 0);
      json_.member("exclusivePolicy", of_.ledger.alone_on_core().contains(cpu)   ? "PCPULevel"
                                      : of_.ledger.alone_on_zone().contains(cpu) ? "NUMANodeLevel"
                                                                                 : "");
      json_.end_object();
    }
    json_.end_object();
  }
  void write_kubelet() {
    json_.key("policy");
    json_.begin_object();
    json_.member("policy", topology_.kubelet_policy);
    if (!topology_.kubelet_options.empty()) {
      json_.key("options");
      json_.begin_object();
      for (const auto& [key, value] : topology_.kubelet_options) json_.member(key, value);
      json_.end_object();
    }
    if (!topology_.kubelet_reserved.empty()) json_.member("reservedCPUs", topology_.kubelet_reserved);
    json_.end_object();
  }
  template <class Amount>
  void zones(std::string_view key, const Amount& amount) {
    json_.key(key);
    json_.begin_array();
    for (std::size_t z = 0; z < node_.zones.zones.size(); ++z) {
      json_.begin_object();
      number("node", node_.zones.zones[z]);
      json_.key("resources");
      json_.begin_object();
      for (std::size_t r = 0; r < node_.zones.resources.size(); ++r)
        if (node_.zones.at(z, r) != ZoneAmounts::kAbsent)
          json_.member(node_.zones.resources[r].view(), quantity(node_.zones.resources[r], amount(z, r)));
      json_.end_object();
      json_.end_object();
    }
    json_.end_array();
  }
  void write_pods() {
    std::vector<const Ledger::Holder*> pods;
    for (const Ledger::Holder& holder : of_.ledger.holders()) pods.push_back(&holder);
    if (pods.empty()) return;
    std::ranges::sort(pods, {}, [](const Ledger::Holder* holder) { return pod_key(*holder->pod->pod); });
    json_.key("allocatedPods");
    json_.begin_array();
    for (const Ledger::Holder* holder : pods) {
      json_.begin_object();
      json_.member("uid", holder->pod->pod->metadata.uid);
      json_.member("namespace", holder->pod->pod->metadata.namespace_.view());
      json_.member("name", holder->pod->pod->metadata.name);
      json_.member("cpuset", holder->given->cpus.to_string());
      if (holder->given->exclusive != Exclusive::none)
        json_.member("cpuExclusivePolicy", to_string(holder->given->exclusive));
      if (!holder->given->zones.empty()) {
        json_.key("numaNodeResources");
        json_.begin_array();
        for (const Given::Zone& zone : holder->given->zones) {
          json_.begin_object();
          number("node", zone.id);
          json_.key("resources");
          json_.begin_object();
          for (const auto& [name, amount] : zone.amounts) json_.member(name.view(), quantity(name, amount));
          json_.end_object();
          json_.end_object();
        }
        json_.end_array();
      }
      json_.end_object();
    }
    json_.end_array();
  }

  const NumaNodes::OfRow& of_;
  const NumaNode& node_;
  const NodeTopology& topology_;
  json::Writer& json_;
};

}  // namespace

std::string describe(const NumaNodes::OfRow& of, std::string_view node) {
  std::string text;
  json::Writer json(text);
  Description(of, json).write(node);
  return text;
}

}  // namespace koord::scheduling::node_numa_resource
