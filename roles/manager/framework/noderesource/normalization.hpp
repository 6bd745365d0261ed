// How fast a node's CPUs are against others', and how much larger its resources are shown: the plugins
// CPUNormalization and ResourceAmplification.
#pragma once

#include <string>
#include <string_view>

#include "framework/config/strategies.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"
#include "koord/base/result.hpp"

namespace koord::manager {

inline constexpr std::string_view kNormalizationRatio = "node.koordinator.sh/cpu-normalization-ratio",
                                  kNormalizationEnabled = "node.koordinator.sh/cpu-normalization-enabled",
                                  kCpuBasicInfo = "node.koordinator.sh/cpu-basic-info",
                                  kAmplificationRatio = "node.koordinator.sh/resource-amplification-ratio";

/// The node's ratio with two decimals, from 1.00 to 5.00; "1.00" where normalization is off: by the node's
/// label, else by the strategy. It follows from what the node agent says of the CPUs in the annotation of
/// `topology` (null: none). Errors say what is missing or wrong; then what is there stays.
Result<std::string> normalization_ratio(const CpuNormalizationStrategy& strategy, const api::Node& node,
                                        const api::NodeResourceTopology* topology);

/// The ratio that an annotation says, above 0; nothing if it is absent. Code::parse if it is no such number.
Result<std::optional<double>> read_ratio(std::string_view annotation);

/// Whether a written ratio is worth replacing by a new one: by more than 0.01, or because it is no ratio.
bool differs(std::string_view written, std::string_view ratio);

/// What the annotation says of a node whose CPUs have this ratio (nothing: none is known), with two decimals:
/// {"cpu":1.20}. Empty where nothing is amplified. A ratio below 1 is an error.
Result<std::string> amplification_ratios(const ResourceAmplificationStrategy& strategy,
                                         std::optional<double> normalization);

}  // namespace koord::manager
