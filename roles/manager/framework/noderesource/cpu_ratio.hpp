// How fast a node's CPUs are against others', as its annotations say it.
#pragma once

#include <optional>
#include <string_view>

#include "koord/api/koordinator/node.hpp"
#include "koord/base/result.hpp"

namespace koord::manager {

inline constexpr std::string_view kNormalizationRatio = api::kCpuNormalizationRatio,
                                  kNormalizationEnabled = api::kCpuNormalizationEnabled,
                                  kCpuBasicInfo = api::kCpuBasicInfo,
                                  kAmplificationRatio = api::AmplificationRatios::kAnnotation;

/// The ratio that an annotation says, above 0; nothing if it is absent. Code::parse if it is no such number.
Result<std::optional<double>> read_ratio(std::string_view annotation);

}  // namespace koord::manager
