// NodeResourcesFitArgs: see node_resources_fit_args.hpp.
#include "koord/scheduling/scoring/node_resources_fit_args.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/rules/validation_names.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/base/text.hpp"

namespace koord::scheduling {

namespace {

constexpr std::string_view kStrategies[] = {"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"};

}  // namespace

void validate_shape(const std::vector<ShapePoint>& shape, const std::string& path, FieldErrors& errors) {
  if (shape.empty()) return errors.required(path, "at least one point must be specified");
  auto at = [&](std::size_t i, std::string_view field) { return fmt::format("{}[{}].{}", path, i, field); };
  for (std::size_t i = 1; i < shape.size(); ++i) {
    if (shape[i - 1].utilization < shape[i].utilization) continue;
    errors.invalid(at(i, "utilization"), std::to_string(shape[i].utilization),
                   "values must be sorted in increasing order");
    break;
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const ShapePoint& p = shape[i];
    if (p.utilization < 0 || p.utilization > 100)
      errors.invalid(at(i, "utilization"), std::to_string(p.utilization), "not in valid range [0, 100]");
    if (p.score < 0 || p.score > 10)
      errors.invalid(at(i, "score"), std::to_string(p.score), "not in valid range [0, 10]");
  }
}

void NodeResourcesFitArgs::validate(const std::string& path, FieldErrors& errors) const {
  const auto name = [&](const std::string& value, const std::string& at) {
    for (const std::string_view error : api::check_qualified_name(value))
      errors.invalid(at, quote(value), error);
  };
  for (std::size_t i = 0; i < ignored_resources.size(); ++i)
    name(ignored_resources[i], fmt::format("{}.ignoredResources[{}]", path, i));
  for (std::size_t i = 0; i < ignored_resource_groups.size(); ++i) {
    const std::string at = fmt::format("{}.ignoredResourceGroups[{}]", path, i);
    if (ignored_resource_groups[i].find('/') != std::string::npos)
      errors.invalid(at, quote(ignored_resource_groups[i]), "resource group name can't contain '/'");
    name(ignored_resource_groups[i], at);
  }
  if (!scoring_strategy) return;
  const ScoringStrategy& s = *scoring_strategy;
  const std::string at = fmt::format("{}.scoringStrategy", path);
  if (std::find(std::begin(kStrategies), std::end(kStrategies), s.type) == std::end(kStrategies))
    errors.not_supported(fmt::format("{}.type", at), s.type, kStrategies);
  for (std::size_t i = 0; i < s.resources.size(); ++i) {
    const ResourceSpec& r = s.resources[i];
    if (r.weight <= 0 || r.weight > 100)
      errors.invalid(fmt::format("{}.resources[{}].weight", at, i), std::to_string(r.weight),
                     fmt::format("resource weight of {} not in valid range (0, 100]", r.name));
  }
  if (s.requested_to_capacity_ratio)
    validate_shape(s.requested_to_capacity_ratio->shape, fmt::format("{}.shape", at), errors);
  else if (s.type == "RequestedToCapacityRatio")
    errors.required(fmt::format("{}.requestedToCapacityRatio", at));
}

KOORD_SCHEMA(ShapePoint, ROW(utilization).doc("Used percentage, 0 to 100."),
             ROW(score).doc("Score at that utilization, 0 to 10."));
KOORD_SCHEMA(RequestedToCapacityRatio, ROW(shape).doc("Points of a broken line."));
KOORD_SCHEMA(ScoringStrategy, ROW(type).doc("LeastAllocated, MostAllocated or RequestedToCapacityRatio."),
             ROW(resources).default_json(kDefaultResources).doc("The resources that count."),
             ROW(requested_to_capacity_ratio).doc("The shape for RequestedToCapacityRatio."));
KOORD_OBJECT(NodeResourcesFitArgs, args_kind("NodeResourcesFitArgs"),
             ROW(ignored_resources).doc("Extended resources that the filter ignores."),
             ROW(ignored_resource_groups).doc("Prefixes of extended resources that the filter ignores."),
             ROW(scoring_strategy).default_json(R"({"type":"LeastAllocated"})").doc("How nodes are scored."));

}  // namespace koord::scheduling
