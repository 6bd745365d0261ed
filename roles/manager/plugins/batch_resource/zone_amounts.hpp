// Batch resources of NUMA nodes: what each zone of a NodeResourceTopology can lend.
#pragma once

#include "framework/noderesource/node_view.hpp"
#include "framework/noderesource/zones.hpp"

namespace koord::manager {

/// Whether anything can be said of the zones: one of them has CPU or memory.
bool has_zones(const api::NodeResourceTopology& topology);

/// batch_amount() for each zone: of what the zone has, an equal part of what the system uses, is reserved and
/// is used by pods that are not there, and what the node's pods use there. A pod is where its annotation
/// scheduling.koordinator.sh/resource-status puts it, in equal parts, or everywhere. Memory may have
/// fractions of a byte, as upstream writes them. Only for a view that is not stale.
ZoneAmounts zone_amounts(const NodeView& view, const api::NodeResourceTopology& topology);

}  // namespace koord::manager
