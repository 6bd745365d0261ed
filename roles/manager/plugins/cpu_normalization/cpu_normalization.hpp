// The plugin CPUNormalization: how fast a node's CPUs are against others'.
#pragma once

#include <string>
#include <string_view>

#include "framework/noderesource/plugin.hpp"

namespace koord::manager {

/// The node's ratio with two decimals, from 1.00 to 5.00; "1.00" where normalization is off: by the node's
/// label, else by the strategy. It follows from what the node agent says of the CPUs in the annotation of
/// `topology` (null: none). Errors say what is missing or wrong; then what is there stays.
Result<std::string> normalization_ratio(const CpuNormalizationStrategy& strategy, const api::Node& node,
                                        const api::NodeResourceTopology* topology);

/// Whether a written ratio is worth replacing by a new one: by more than 0.01, or because it is no ratio.
bool differs(std::string_view written, std::string_view ratio);

}  // namespace koord::manager
