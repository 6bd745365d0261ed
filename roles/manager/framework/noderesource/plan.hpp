// What shall be written of a node: all plugins of noderesource, in their order.
#pragma once

#include "framework/noderesource/plugin.hpp"

namespace koord::manager {

/// `strategy` is the node's (colocation_of). Without colocation, in the cluster or on the node, nothing is
/// lent and nothing amplified, normalization stays as it is, and devices are what they are. Of what cannot be
/// said what is there stays.
NodePlan plan_node(const NodeFacts& facts, const SloConfig& config, const ColocationStrategy& strategy,
                   const ResourcePlugins& plugins);

/// Which parts of a plan differ from the node, and whether at once.
struct NodeChanges {
  bool status = false;      // anything at all
  bool status_now = false;  // beyond `share` of what was, or of devices
  bool meta = false;        // labels, and annotations but those that are written with the status
};
NodeChanges changes_of(const api::Node& before, const NodePlan& plan, double share,
                       ResourcePluginTable table);

/// `node` with the plan's status and the annotations that go with it, and with the rest.
api::Node with_status(const api::Node& node, const NodePlan& plan, ResourcePluginTable table);
api::Node with_meta(const api::Node& node, const NodePlan& plan, ResourcePluginTable table);

}  // namespace koord::manager
