// What NodeMetric and NodeSLO of a node shall say: pure functions of the configuration and the node.
#pragma once

#include <string_view>
#include <vector>

#include "framework/config/slo_config.hpp"

namespace koord::manager {

/// A part of a spec that was worked out, or not: for slo_controller_*_spec_parse_count.
struct SpecPart {
  std::string_view reason;  // static text: "getSystemConfigSpec"
  bool succeeded = true;
};
using SpecParts = std::vector<SpecPart>;

/// `before` is null for a node that has none. While colocation-config cannot be read what is there stays.
/// Without colocation (cluster and node), and with a strategy that makes no sense, the defaults are in
/// effect: NodeMetrics are there all the same, load-aware scheduling reads them.
api::NodeMetricSpec node_metric_spec(const SloConfig& config, const api::Node& node,
                                     const api::NodeMetricSpec* before, SpecParts& parts);

/// The annotation node.koordinator.sh/network-bandwidth, a quantity, replaces the strategy's; if it cannot be
/// read the node has no system strategy. Extensions that nobody configures stay as they are.
api::NodeSloSpec node_slo_spec(const SloConfig& config, const api::Node& node, const api::NodeSloSpec* before,
                               SpecParts& parts);

}  // namespace koord::manager
