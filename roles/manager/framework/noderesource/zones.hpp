// What zones of a NodeResourceTopology lend, as it is written there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/noderesource/node_view.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"

namespace koord::manager {

/// What a zone lends; beside the zone itself, by its place.
using ZoneAmounts = std::vector<OvercommitAmount>;

/// `topology` with these amounts as capacity, allocatable and available; CPU is multiplied by `ratio` if
/// that is above 1. What differs from what is there by no more than `share` of it stays as it is. No
/// amounts at all: what zones lent becomes 0. Nothing, if nothing changes.
std::optional<api::NodeResourceTopology> with_zone_amounts(const api::NodeResourceTopology& topology,
                                                           const ZoneAmounts& amounts, double ratio,
                                                           double share);

/// `topology` without what zones lend. Nothing, if they lend nothing.
std::optional<api::NodeResourceTopology> without_zone_amounts(const api::NodeResourceTopology& topology);

}  // namespace koord::manager
