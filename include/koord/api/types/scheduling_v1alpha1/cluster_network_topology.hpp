// scheduling.koordinator.sh/v1alpha1: ClusterNetworkTopology, how a cluster's nodes hang together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

// Layers that are always there: the whole cluster, and each node.
inline constexpr std::string_view kClusterTopologyLayer = "ClusterTopologyLayer",
                                  kNodeTopologyLayer = "NodeTopologyLayer";

struct NetworkTopologyLayer {
  Symbol topology_layer;
  Symbol parent_topology_layer;   // empty: the cluster
  std::vector<Symbol> label_key;  // the first that a node has says in which domain it lies
  KOORD_STRUCT(NetworkTopologyLayer);
};

struct ClusterNetworkTopologySpec {
  std::vector<NetworkTopologyLayer> network_topology_spec;
  KOORD_STRUCT(ClusterNetworkTopologySpec);
};

struct TopologyInfo {
  Symbol topology_layer;
  std::string topology_name;  // empty: the cluster
  KOORD_STRUCT(TopologyInfo);
};

struct ClusterNetworkTopologyDetail {
  TopologyInfo topology_info;
  Box<TopologyInfo> parent_topology_info;         // absent: of the cluster
  Symbol child_topology_layer;                    // empty: there are none
  std::vector<std::string> child_topology_names;  // sorted; empty if they are nodes
  int32_t node_num = 0;
  KOORD_STRUCT(ClusterNetworkTopologyDetail);
};

struct ClusterNetworkTopologyStatus {
  std::vector<ClusterNetworkTopologyDetail> detail_status;  // parents before their children
  KOORD_STRUCT(ClusterNetworkTopologyStatus);
};

/// The scheduler reads the one that is named kName.
struct ClusterNetworkTopology {
  static constexpr std::string_view kName = "default";

  ObjectMeta metadata;
  ClusterNetworkTopologySpec spec;
  ClusterNetworkTopologyStatus status;
  KOORD_STRUCT(ClusterNetworkTopology);
};

}  // namespace koord::api
