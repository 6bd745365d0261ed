// The plugin MidResource: what prod pods are predicted not to use, lent as mid resources.
#pragma once

#include "framework/noderesource/plugin.hpp"

namespace koord::manager {

/// min(what prod pods are predicted not to use, what the node does not use) + a share of what nobody has
/// asked for, at most the mid thresholds of the capacity; with midReclaimMode static a fixed share of the
/// capacity. Only for a view that is not stale.
OvercommitAmount mid_amount(const NodeView& view);

/// Writes it into capacity and allocatable; nothing: they go.
void set_mid(api::Node& node, const std::optional<OvercommitAmount>& amount);

}  // namespace koord::manager
