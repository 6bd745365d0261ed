// Amplified nodes: what the kubelet reports as allocatable, times the node's ratios, and as it was beside it.
#pragma once

#include "koord/base/result.hpp"
#include "koord/json/value.hpp"

namespace koord::manager {

/// Changes the status that a kubelet writes, of a node with the annotation
/// node.koordinator.sh/resource-amplification-ratio: cpu and memory of its allocatable become the raw ones
/// times the ratio where that is above 1. The raw ones are kept in node.koordinator.sh/raw-allocatable: as
/// they are now where there are none yet, or where they are not those of `before` (the kubelet's, who knows
/// of no ratio). Without ratios that annotation goes. An error says what of the annotations cannot be read;
/// the node's resources are as they came then. Both are such that check_node finds right; `before` is null if
/// it is not known.
Result<> amplify_node(json::Value& node, const json::Value& before, json::Arena& arena);

}  // namespace koord::manager
