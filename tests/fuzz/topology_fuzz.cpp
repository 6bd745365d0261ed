// What NodeResourceTopology is made of, and what is there of it: the first byte chooses the kubelet's
// configuration, its checkpoint, an annotation of the Node or the API server's document; the rest is its
// text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "framework/model/shared_pools.hpp"
#include "framework/objects/pod_info.hpp"
#include "framework/report/node_topology.hpp"
#include "framework/states/cpu_manager.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

using namespace koord;
using namespace koord::koordlet;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

/// Eight CPUs on two memory nodes.
NodeFacts machine() {
  NodeFacts facts;
  facts.topology.nodes = {{0, host::CpuSet::range(0, 3)}, {1, host::CpuSet::range(4, 7)}};
  for (int cpu = 0; cpu < 8; ++cpu)
    facts.topology.cpus.push_back({.cpu = cpu, .core = cpu / 2, .socket = cpu / 4, .node = cpu / 4});
  facts.topology.online = host::CpuSet::range(0, 7);
  return facts;
}

void check_annotations(const NodeTopology& topology) {
  for (const std::string& text : topology.annotations) check(json::parse(text).has_value());
}

void check_config(std::string_view text) {
  const auto config = read_kubelet_config(text);
  if (!config) return;
  const NodeFacts facts = machine();
  check(kubelet_reserved_cpus(facts.topology, *config).is_subset_of(facts.topology.online));
  check(std::ranges::is_sorted(config->cpu_policy_options));
  Inventory inventory;
  inventory.kubelet = std::make_shared<const KubeletConfig>(*config);
  check_annotations(node_topology(facts, inventory, {}));
}

void check_state(std::string_view text) {
  const auto state = read_cpu_manager_state(text);
  if (!state) return;
  Inventory inventory;
  inventory.own_cpus.grants = state->grants;
  host::CpuSet all;
  for (const KubeletGrant& grant : state->grants) {
    check(!grant.cpus.empty());
    all = all | grant.cpus;
  }
  check(all.is_subset_of(state->given));
  const NodeFacts facts = machine();
  for (const SharedPool& pool : shared_pools(facts.topology, inventory).ls) check((pool.cpus & all).empty());
  check_annotations(node_topology(facts, inventory, {}));
}

void check_node(std::string_view annotation, std::string_view text) {
  api::Node node;
  node.metadata.annotations[Symbol(annotation)] = text;
  Inventory inventory;
  std::vector<std::string> warnings;
  inventory.node = read_node(node, warnings);
  check_annotations(node_topology(machine(), inventory, node));
}

void check_document(std::string_view text) {
  auto document = json::parse(text);
  if (!document) return;
  const NodeTopology wanted = node_topology(machine(), {}, {});
  write_topology(*document, wanted);
  const std::string written = json::to_text(*document);
  write_topology(*document, wanted);
  check(json::to_text(*document) == written);
  const auto object = api::decode<api::NodeResourceTopology>(written);
  if (object) check(stale_part(*object, wanted).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'c': check_config(text); break;
    case 's': check_state(text); break;
    case 'r': check_node("node.koordinator.sh/reservation", text); break;
    case 'q': check_node("node.koordinator.sh/system-qos-resource", text); break;
    default: check_document(text); break;
  }
  return 0;
}
