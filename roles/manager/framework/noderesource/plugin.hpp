// A plugin of --noderesource-plugins: a row of plugins.cpp, and the draft of a node to which each adds its
// part.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/config/slo_config.hpp"
#include "framework/noderesource/node_view.hpp"
#include "framework/noderesource/overcommit_level.hpp"
#include "framework/noderesource/zones.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/result.hpp"

namespace koord::manager {

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

/// What a node lends of a class.
struct OvercommitResource {
  std::string_view cpu, memory;            // the extended resources
  std::optional<OvercommitAmount> amount;  // nothing: they go
};

/// A run of a plugin, for metrics and the log.
struct PluginRun {
  std::string_view plugin;
  std::string_view stage;  // ResourceReset, ResourceCalculate
  std::string error;       // empty: it succeeded
};

struct NodePlan {
  std::vector<OvercommitResource> overcommit;  // before the node's ratio
  /// The same of its zones; empty: they lend nothing. Nothing: nobody says anything of zones.
  std::optional<ZoneAmounts> zones;
  double ratio = 1;  // of its CPUs
  api::Node after;   // the node with everything
  std::vector<PluginRun> runs;
  /// After which time it would look different though nothing changed.
  std::optional<std::chrono::nanoseconds> wait;
  std::int64_t level_percent = 100;  // percent of what it could lend; the amounts have it in them
  std::string why_not;               // why it lends nothing; empty if it lends
};

/// What a run came to, for metrics.
enum class PluginStage : std::uint8_t {
  none,       // what it follows from is not known yet: what was written stays, and the run does not count
  reset,      // ResourceReset: there is no colocation
  calculate,  // ResourceCalculate
};

/// The node as it will be. Each plugin finds there what those before it in the table said.
struct NodeDraft {
  const NodeFacts& facts;
  const SloConfig& config;
  const NodeView view;          // the same facts with the node's strategy; not stale where the node lends
  const OvercommitLevel level;  // 100 percent where the rule is off
  const bool enabled;           // colocation is: in the cluster and on the node
  NodePlan& plan;

  bool lends() const { return plan.why_not.empty(); }
  /// What the node's level leaves of it.
  OvercommitAmount lowered(const OvercommitAmount& amount) const;
  /// Of a plugin that follows colocation.
  PluginStage stage() const { return enabled ? PluginStage::calculate : PluginStage::reset; }
};

/// Says its part of the draft. An error is counted and logged; then what is there stays.
using ResourcePluginRun = std::function<Result<PluginStage>(NodeDraft& draft)>;

/// A row. What it writes of nodes is said here: by it plans are compared with nodes, and written.
struct ResourcePlugin {
  std::string_view name;                             // as the flag, metrics and the log have it
  std::span<const std::string_view> resources = {};  // of capacity and allocatable
  bool of_devices = false;  // these are: any difference is written at once, and others may write them, too
  std::span<const std::string_view> annotations = {};         // of the metadata, written with the labels
  std::span<const std::string_view> status_annotations = {};  // written together with the status
  std::span<const std::string_view> labels = {};
  ResourcePluginRun (*make)(const FeatureGates& gates) = nullptr;
};
/// The order is that in which they run.
using ResourcePluginTable = std::span<const ResourcePlugin* const>;

/// Those of a table that are on. One that is off changes nothing.
struct ResourcePlugins {
  struct On {
    const ResourcePlugin* plugin;
    ResourcePluginRun run;
  };
  ResourcePluginTable table;
  std::vector<On> on;
};
ResourcePlugins choose_plugins(ResourcePluginTable table, const FeatureGates& gates,
                               const std::function<bool(std::string_view name)>& is_on);

}  // namespace koord::manager
