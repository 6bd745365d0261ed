// Loads of a pool's nodes, from what nodes report.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "framework/snapshot.hpp"
#include "plugins/low_node_load/loads.hpp"

namespace koord::descheduler::low_node_load {

/// Of those nodes whose report is there and younger than `expires`; others are left alone, and told of. A
/// pod that has ended uses nothing and goes nowhere. The snapshot outlives the loads.
std::vector<NodeLoad> loads_of(
    std::span<const NodeView* const> nodes, const Thresholds& thresholds, std::chrono::seconds expires,
    WallTime now, const std::function<void(std::string_view node, std::string_view why)>& left_out);

}  // namespace koord::descheduler::low_node_load
