// NodeView: what is known of a node's use, for plugins that work out what it can lend; and what that comes
// to.
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

}  // namespace koord::manager
