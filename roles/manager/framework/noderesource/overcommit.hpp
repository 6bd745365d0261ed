// What a node can lend beside what it has promised: batch and mid resources, worked out from what is used.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "framework/config/strategies.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::manager {

/// All that a node's resources follow from. Valid during the call.
struct NodeView {
  const api::Node& node;
  /// Those of the node that have not ended; others may be among them and do not count.
  std::span<const std::shared_ptr<const api::Pod>> pods;
  const api::NodeMetric* metric = nullptr;  // null: there is none
  /// With all of the defaults filled in.
  const ColocationStrategy& strategy;
  api::Time now;
};

/// What is lent, as extended resources have it: CPU in milli-cores, memory in bytes. Whole numbers from 0.
struct OvercommitAmount {
  api::Quantity cpu, memory;
  friend bool operator==(const OvercommitAmount&, const OvercommitAmount&) = default;
};

/// How long a NodeMetric counts: degradeTimeMinutes, a year at most.
std::chrono::seconds fresh_for(const ColocationStrategy& strategy);

/// Why nothing can be said, or nothing: a NodeMetric that is absent, older than the strategy's
/// degradeTimeMinutes (or from further in the future than that), or without the system's CPU and memory.
std::optional<std::string> stale(const NodeView& view);

/// capacity - margin - max(system, reserved) - what pods of high priority use, from 0 (policy usage);
/// requests, or for each pod the larger of both, in place of what is used (policies request, of memory alone,
/// and maxUsageRequest); at most the batch thresholds of the capacity. Batch and free pods do not count; a
/// pod without a metric counts with its requests; an LSE pod's CPUs count as requested; metrics of pods that
/// are not there (any more) count unless they say that the pod was batch or free. Only for a view that is not
/// stale.
OvercommitAmount batch_amount(const NodeView& view);

/// min(what prod pods are predicted not to use, what the node does not use) + a share of what nobody has
/// asked for, at most the mid thresholds of the capacity; with midReclaimMode static a fixed share of the
/// capacity. Only for a view that is not stale.
OvercommitAmount mid_amount(const NodeView& view);

}  // namespace koord::manager
