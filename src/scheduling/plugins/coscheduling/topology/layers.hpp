// The layers of a ClusterNetworkTopology, and in which domain of each a node lies.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/scheduling_v1alpha1/cluster_network_topology.hpp"
#include "koord/base/result.hpp"

namespace koord::scheduling::coscheduling::topology {

struct Layer {
  std::string name;
  std::vector<std::string> labels;  // the first that a node has names its domain; of nodes none
};

/// From the cluster, which is the first, to the nodes, which are the last.
struct Layers {
  static constexpr std::size_t kMost = 32;

  std::vector<Layer> all;

  std::size_t nodes() const { return all.size() - 1; }
  /// Absent: there is none of this name.
  std::optional<std::size_t> find(std::string_view name) const;
};

/// Each layer hangs under the one that it names as its parent, the nodes' is the lowest. What the highest
/// names does not matter. Code::invalid, with the layer: one is named that is not there, hangs under itself,
/// is there twice, or has no nodes below it.
Result<Layers> read_layers(const api::ClusterNetworkTopologySpec& spec);

/// A node's domains, from the layer below the cluster to the node itself.
struct Path {
  std::vector<std::string> names;
  /// Set: the node has no label of this layer and lies nowhere. Of the layer right above the nodes it may
  /// have none: it is then alone in a domain of its name.
  const Layer* missing = nullptr;

  friend bool operator==(const Path& a, const Path& b) {
    return a.names == b.names && (a.missing == nullptr) == (b.missing == nullptr);
  }
};
Path path_of(const Layers& layers, std::string_view node, const api::SymbolMap& labels);

}  // namespace koord::scheduling::coscheduling::topology
