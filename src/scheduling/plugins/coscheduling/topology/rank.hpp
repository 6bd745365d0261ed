// rank(): which nodes are nearest to the pods that name the same network-topology-selector.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "koord/api/types/meta_v1/meta.hpp"
#include "scheduling/plugins/coscheduling/topology/network.hpp"

namespace koord::scheduling::coscheduling::topology {

/// What a pod's annotation kNetworkTopologySelector says; empty: nothing.
std::string_view selector_of(const api::ObjectMeta& meta);

/// As Koordinator's sortNodesByTopology: the place of each of the rows, 0 is the best, as if each had room
/// for one pod (comes_before(), the fewer the better). Nodes that lie nowhere in the network come after all
/// others, by name. `out` by row.
void rank(const NetworkTopology& network, std::string_view selector, const NodeTable& nodes,
          std::span<const Row> rows, std::vector<std::int64_t>& out);

}  // namespace koord::scheduling::coscheduling::topology
