// How fast a node's CPUs are against others', as its annotations say it.
#pragma once

#include <optional>
#include <string_view>

#include "koord/base/result.hpp"

namespace koord::manager {

inline constexpr std::string_view kNormalizationRatio = "node.koordinator.sh/cpu-normalization-ratio",
                                  kNormalizationEnabled = "node.koordinator.sh/cpu-normalization-enabled",
                                  kCpuBasicInfo = "node.koordinator.sh/cpu-basic-info",
                                  kAmplificationRatio = "node.koordinator.sh/resource-amplification-ratio";

/// The ratio that an annotation says, above 0; nothing if it is absent. Code::parse if it is no such number.
Result<std::optional<double>> read_ratio(std::string_view annotation);

}  // namespace koord::manager
