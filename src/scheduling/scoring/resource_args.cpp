// The argument structs that plugins about resources share: see resource_args.hpp.
#include "koord/scheduling/scoring/resource_args.hpp"

#include <fmt/format.h>

#include "koord/api/schema/table.hpp"

namespace koord::scheduling {

std::vector<ResourceScorer::Resource> scored_resources(const std::vector<ResourceSpec>& specs,
                                                       NodeTable& nodes) {
  std::vector<ResourceScorer::Resource> resources;
  resources.reserve(specs.size());
  for (const ResourceSpec& spec : specs) {
    const bool scalar = is_scalar_resource(spec.name);
    const ResourceId fixed = fixed_resource(spec.name);
    if (!scalar && (fixed == kPods || fixed == kFirstScalar)) continue;
    resources.push_back({nodes.keep_resource(spec.name), scalar, spec.weight});
  }
  return resources;
}

void KoordinatorScoring::validate(std::string_view what, FieldErrors& errors) const {
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const Resource& r = resources[i];
    if (r.weight <= 0 || r.weight > 100)
      errors.invalid(fmt::format("resources[{}].weight", i), std::to_string(r.weight),
                     fmt::format("resource weight of {} not in valid range (0, 100]", r.name));
  }
  if (errors.empty() && type != "LeastAllocated" && type != "MostAllocated")
    errors.add(fmt::format("{} {} is not supported", what, type));
}

using ScoredResource = KoordinatorScoring::Resource;
KOORD_SCHEMA(ScoredResource, ROW(name).doc("Name of the resource."),
             ROW(weight).doc("Weight of the resource, 1 to 100."));
KOORD_SCHEMA(KoordinatorScoring, ROW(type).doc("LeastAllocated or MostAllocated."),
             ROW(resources).doc("The resources that count."));
KOORD_SCHEMA(ResourceSpec, ROW(name).required().doc("Name of the resource."),
             ROW(weight).default_json("1").doc("Weight of the resource, 1 to 100."));

}  // namespace koord::scheduling
