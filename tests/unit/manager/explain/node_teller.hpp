// A node that lends, and its story, for tests of what is told of it.
#pragma once

#include <optional>

#include "explain/node_story.hpp"
#include "framework/noderesource/node_case.hpp"
#include "framework/noderesource/plan.hpp"

namespace koord::manager {

inline NodeStory tell(Case& c, std::optional<OvercommitLevel> level = {}) {
  c.strategy.enable = true;
  SloConfig config;
  api::ConfigMap map;
  map.data["colocation-config"] = R"({"enable":true})";
  (void)config.set(map);
  const NodeFacts facts{.node = c.node,
                        .pods = c.pods,
                        .metric = &c.metric,
                        .topologies_known = false,
                        .devices_known = false,
                        .now = c.now,
                        .level = level.value_or(OvercommitLevel{})};
  return tell_node(facts, c.strategy, plan_node(facts, config, c.strategy, all_resource_plugins()));
}

/// It lends 31 cores and 48Gi: a pod is not measured yet ("new"), one is gone ("old"), the others are
/// measured.
inline Case lending_case() {
  Case c({"100", "120Gi"}, {"7", "12Gi"});
  c.node.status.allocatable = list({"98", "118Gi"});
  c.add(PodRow{"web", "LS", "koord-prod", {"20", "40Gi"}, {"11", "11Gi"}});
  c.add(PodRow{"own", "LSE", "koord-prod", {"4", "8Gi"}, {"1", "2Gi"}});
  c.add(PodRow{"job", "BE", "koord-batch", {"10", "20Gi"}, {"10", "10Gi"}});
  c.add(PodRow{"new", "LS", "koord-prod", {"10", "4Gi"}, {"", ""}});
  c.add(MetricRow{"old", "koord-prod", {"2", "1Gi"}});
  c.node.status.allocatable[api::kBatchCpu] = api::Quantity::from_int(41'000);
  c.node.status.allocatable[api::kBatchMemory] = api::Quantity::must("40Gi");
  c.metric.status.node_metric->node_usage.resources = list({"31", "36Gi"});
  return c;
}

}  // namespace koord::manager
