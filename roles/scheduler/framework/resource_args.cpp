// The argument structs that plugins about resources share: see resource_args.hpp.
#include "framework/resource_args.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::scheduler {

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

KOORD_SCHEMA(ResourceSpec, ROW(name).required().doc("Name of the resource."),
             ROW(weight).default_json("1").doc("Weight of the resource, 1 to 100."));

}  // namespace koord::scheduler
