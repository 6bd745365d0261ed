// NodeResourcesFitArgs: what the filter ignores, and how nodes are scored.
#pragma once

#include "koord/api/values/box.hpp"
#include "koord/scheduling/scoring/resource_args.hpp"

namespace koord::scheduling {

struct ShapePoint {
  std::int32_t utilization = 0;
  std::int32_t score = 0;  // 0..10
  KOORD_STRUCT(ShapePoint);
};
/// What is wrong with the points of a broken line, as Kubernetes words it.
void validate_shape(const std::vector<ShapePoint>& shape, const std::string& path, FieldErrors& errors);

struct RequestedToCapacityRatio {
  std::vector<ShapePoint> shape;
  KOORD_STRUCT(RequestedToCapacityRatio);
};
struct ScoringStrategy {
  std::string type;  // LeastAllocated, MostAllocated, RequestedToCapacityRatio
  std::vector<ResourceSpec> resources;
  api::Box<RequestedToCapacityRatio> requested_to_capacity_ratio;
  KOORD_STRUCT(ScoringStrategy);
};
struct NodeResourcesFitArgs {
  std::vector<std::string> ignored_resources;
  std::vector<std::string> ignored_resource_groups;
  api::Box<ScoringStrategy> scoring_strategy;

  void validate(const std::string& path, FieldErrors& errors) const;
  KOORD_STRUCT(NodeResourcesFitArgs);
};

}  // namespace koord::scheduling
