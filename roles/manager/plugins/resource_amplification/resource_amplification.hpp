// The plugin ResourceAmplification: how much larger a node's resources are shown.
#pragma once

#include <optional>
#include <string>

#include "framework/noderesource/plugin.hpp"

namespace koord::manager {

/// What the annotation says of a node whose CPUs have this ratio (nothing: none is known), with two decimals:
/// {"cpu":1.20}. Empty where nothing is amplified. A ratio below 1 is an error.
Result<std::string> amplification_ratios(const ResourceAmplificationStrategy& strategy,
                                         std::optional<double> normalization);

}  // namespace koord::manager
