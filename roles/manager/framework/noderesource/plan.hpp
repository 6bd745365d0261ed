// What shall be written of a node: all plugins of noderesource, in their order.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/config/slo_config.hpp"
#include "framework/noderesource/node_update.hpp"
#include "framework/noderesource/overcommit_level.hpp"
#include "framework/noderesource/zones.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"

namespace koord::manager {

/// The plugins of --noderesource-plugins that are on.
struct ResourcePlugins {
  bool mid = true, batch = true, normalization = true, amplification = true, gpu = true, rdma = true;
  bool share_gpu = false;  // the gate EnableSyncGPUSharedResource
};

/// What is known of a node. Valid during the call. Objects are null where there is none.
struct NodeFacts {
  const api::Node& node;
  std::span<const std::shared_ptr<const api::Pod>> pods;
  const api::NodeMetric* metric = nullptr;
  const api::NodeResourceTopology* topology = nullptr;
  const api::Device* device = nullptr;
  /// Whether a null of these means that there is none; otherwise nobody knows yet, and what was written
  /// stays.
  bool topologies_known = true, devices_known = true;
  api::Time now;
  OvercommitLevel level = {};  // as it is now
};

/// A run of a plugin, for metrics and the log.
struct PluginRun {
  std::string_view plugin;
  std::string_view stage;  // ResourceReset, ResourceCalculate
  std::string error;       // empty: it succeeded
};

struct NodePlan {
  std::vector<OvercommitResource> overcommit;  // before the node's ratio
  ZoneAmounts zones;                           // the same of its zones; empty: they lend nothing
  double ratio = 1;                            // of its CPUs
  api::Node after;                             // the node with everything
  std::vector<PluginRun> runs;
  /// After which time it would look different though nothing changed.
  std::optional<std::chrono::nanoseconds> wait;
  std::int64_t level_percent = 100;  // percent of what it could lend; the amounts have it in them
  std::string why_not;               // why it lends nothing; empty if it lends
};

/// `strategy` is the node's (colocation_of). Without colocation, in the cluster or on the node, nothing is
/// lent and nothing amplified, normalization stays as it is, and devices are what they are. Of what cannot be
/// said what is there stays.
NodePlan plan_node(const NodeFacts& facts, const SloConfig& config, const ColocationStrategy& strategy,
                   const ResourcePlugins& plugins);

/// Which parts of a plan differ from the node, and whether at once.
struct NodeChanges {
  bool status = false;      // anything at all
  bool status_now = false;  // beyond `share` of what was, or of devices
  bool meta = false;        // labels, and annotations but the one that is written with the status
};
NodeChanges changes_of(const api::Node& before, const NodePlan& plan, double share);

/// `node` with the plan's status and the annotation that goes with it, and with the rest.
api::Node with_status(const api::Node& node, const NodePlan& plan);
api::Node with_meta(const api::Node& node, const NodePlan& plan);

}  // namespace koord::manager
