#include "koord/api/koordinator/node.hpp"

#include <fmt/format.h>

#include <charconv>

#include "koord/api/schema/table.hpp"
#include "rooted.hpp"

namespace koord::api {

KOORD_SCHEMA(NodeReservation, ROW(resources), ROW(reserved_cpus).wire("reservedCPUs"), ROW(apply_policy));
KOORD_SCHEMA(SystemQosResource, ROW(cpuset), ROW(cpuset_exclusive));
KOORD_SCHEMA(ThirdPartyAllocation, ROW(name), ROW(priority), ROW(resources));
KOORD_SCHEMA(ThirdPartyAllocations, ROW(allocations));

bool reduces_allocatable(const NodeReservation& reservation) {
  return reservation.apply_policy.empty() || reservation.apply_policy == "Default";
}

Result<> decode_annotation(std::string_view text, AmplificationRatios& to) {
  return decode_rooted(text, to.ratios);
}

std::string encode_annotation(const AmplificationRatios& value) {
  std::string text;
  json::Writer json(text);
  json.begin_object();
  for (const auto& [resource, ratio] : value.ratios)
    json.key(resource.view()).raw(fmt::format("{:.2f}", ratio));
  json.end_object();
  return text;
}

Result<std::optional<double>> parse_cpu_normalization_ratio(std::string_view text) {
  constexpr double kMost = 1000;
  constexpr std::size_t kMostOfText = 64;
  if (text.empty()) return std::optional<double>();
  double ratio = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), ratio);
  if (error != std::errc() || end != text.end() || !(ratio > 0) || !(ratio <= kMost))
    return Error(Code::parse,
                 fmt::format("{}: \"{}\" is no ratio", kCpuNormalizationRatio, text.substr(0, kMostOfText)));
  return std::optional(ratio);
}

Result<std::optional<double>> cpu_normalization_ratio(const SymbolMap& annotations) {
  return parse_cpu_normalization_ratio(value_or(annotations, kCpuNormalizationRatio));
}

}  // namespace koord::api
