// Ratios in annotations: see cpu_ratio.hpp.
#include "framework/noderesource/cpu_ratio.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace koord::manager {

Result<std::optional<double>> read_ratio(std::string_view annotation) {
  if (annotation.empty()) return std::optional<double>();
  double ratio = 0;
  const auto [end, error] = std::from_chars(annotation.begin(), annotation.end(), ratio);
  if (error != std::errc() || end != annotation.end() || !(ratio > 0) || !std::isfinite(ratio))
    return Error(Code::parse,
                 fmt::format("annotation {}: \"{}\" is no ratio", kNormalizationRatio, annotation));
  return std::optional(ratio);
}

}  // namespace koord::manager
