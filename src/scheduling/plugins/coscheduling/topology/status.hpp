// What a ClusterNetworkTopology's status says of the nodes.
#pragma once

#include <vector>

#include "koord/api/types/scheduling_v1alpha1/cluster_network_topology.hpp"
#include "scheduling/plugins/coscheduling/topology/layers.hpp"
#include "scheduling/plugins/coscheduling/topology/tree.hpp"

namespace koord::scheduling::coscheduling::topology {

/// A row for each domain but the nodes, parents before their children, these by name.
std::vector<api::ClusterNetworkTopologyDetail> details(const Layers& layers, const Tree& tree);

}  // namespace koord::scheduling::coscheduling::topology
