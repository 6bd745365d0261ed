// NumaNode: what a machine's CPUs and memory nodes are, and how they may be given out, by its
// NodeResourceTopology and its Node.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"
#include "koord/base/symbol.hpp"
#include "koord/scheduling/plugin/numa_choice.hpp"
#include "scheduling/plugins/node_numa_resource/pick_cpus.hpp"

namespace koord::api {
struct Node;
}

namespace koord::scheduling::node_numa_resource {

/// Amounts of some resources on each memory node: cpu in milli, the others in their units.
struct ZoneAmounts {
  static constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();
  static constexpr std::size_t kNowhere = SIZE_MAX;

  std::vector<std::int32_t> zones;    // numbers, ascending: 0 to 63
  std::vector<Symbol> resources;      // that any of them has
  std::vector<std::int64_t> amounts;  // zone by zone; kAbsent: the zone has no such resource

  std::int64_t& at(std::size_t zone, std::size_t resource) {
    return amounts[zone * resources.size() + resource];
  }
  std::int64_t at(std::size_t zone, std::size_t resource) const {
    return amounts[zone * resources.size() + resource];
  }
  // kNowhere: there is none.
  std::size_t zone(std::int32_t id) const;
  std::size_t resource(const Symbol& name) const;
  /// All zones; a bit each.
  NumaMask all() const;
};

/// "cpu": Symbol's look-up is done once.
const Symbol& cpu_name();

/// Koordinator's: rounded up; a ratio of at most 1 changes nothing.
std::int64_t amplified(std::int64_t amount, double ratio);

using Ratios = std::vector<std::pair<Symbol, double>>;

/// What a NodeResourceTopology says. What cannot be read of it is as if it were not there. Immutable.
struct NodeTopology {
  std::shared_ptr<const CpuTopology> cpus;  // never null
  CpuSet reserved;  // kept for the kubelet, for what is not in pods, for SYSTEM; given out by the kubelet
  bool kubelet_static = false, kubelet_full_pcpus = false;
  std::string kubelet_policy;  // as it is written; "": nothing is said
  api::StringMap kubelet_options;
  std::string kubelet_reserved;
  NumaPolicy policy = NumaPolicy::none;
  ZoneAmounts zones;  // without the CPUs that are reserved
  std::optional<Ratios> ratios;
  std::string unread;  // what of it cannot be used, by its keys; empty: nothing
};

/// Machines of one kind report the same CPUs: they are read once, for as long as somebody has them.
class KnownCpus {
 public:
  std::shared_ptr<const CpuTopology> read(const api::SymbolMap& annotations);

 private:
  std::unordered_map<std::string, std::weak_ptr<const CpuTopology>> known_;  // by the annotation's text
  std::size_t sweep_at_ = 64;
};

std::shared_ptr<const NodeTopology> read_topology(const api::NodeResourceTopology& object, KnownCpus& cpus);

/// A row: its topology, and what its Node says of it.
struct NumaNode {
  std::shared_ptr<const NodeTopology> topology;  // nullptr: nobody reports one
  BindPolicy bind = BindPolicy::none;            // that all must keep
  NumaPolicy policy = NumaPolicy::none;
  std::optional<ZoneStrategy> strategy;
  bool ratio_is_wrong = false;       // the Node's cannot be read
  bool zone_ratio_is_wrong = false;  // nor does the topology say any
  double cpu_ratio = 1;              // as the Node says
  double zone_cpu_ratio = 1;         // of what zones have
  Ratios ratios;                     // of the same
  ZoneAmounts zones;                 // amplified

  /// Nobody who does not ask for CPUs or memory nodes of his own is concerned.
  bool plain() const {
    return bind == BindPolicy::none && policy == NumaPolicy::none && !ratio_is_wrong && cpu_ratio <= 1;
  }
  bool has_cpus() const { return topology != nullptr && topology->cpus->valid(); }
};

/// `node` may be null.
NumaNode make_numa_node(const api::Node* node, std::shared_ptr<const NodeTopology> topology);

}  // namespace koord::scheduling::node_numa_resource
