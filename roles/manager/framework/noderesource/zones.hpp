// Batch resources of NUMA nodes: what each zone of a NodeResourceTopology can lend.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/noderesource/overcommit.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"

namespace koord::manager {

/// What a zone lends; beside the zone itself, by its place.
using ZoneAmounts = std::vector<OvercommitAmount>;

/// Whether anything can be said of the zones: one of them has CPU or memory.
bool has_zones(const api::NodeResourceTopology& topology);

/// batch_amount() for each zone: of what the zone has, an equal part of what the system uses, is reserved and
/// is used by pods that are not there, and what the node's pods use there. A pod is where its annotation
/// scheduling.koordinator.sh/resource-status puts it, in equal parts, or everywhere. Memory may have
/// fractions of a byte, as upstream writes them. Only for a view that is not stale.
ZoneAmounts zone_amounts(const NodeView& view, const api::NodeResourceTopology& topology);

/// `topology` with these amounts as capacity, allocatable and available; CPU is multiplied by `ratio` if
/// that is above 1. What differs from what is there by no more than `share` of it stays as it is. No
/// amounts at all: what zones lent becomes 0. Nothing, if nothing changes.
std::optional<api::NodeResourceTopology> with_zone_amounts(const api::NodeResourceTopology& topology,
                                                           const ZoneAmounts& amounts, double ratio,
                                                           double share);

/// `topology` without what zones lend. Nothing, if they lend nothing.
std::optional<api::NodeResourceTopology> without_zone_amounts(const api::NodeResourceTopology& topology);

}  // namespace koord::manager
