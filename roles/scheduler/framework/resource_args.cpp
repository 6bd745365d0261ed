// The argument structs that plugins about resources share: see resource_args.hpp.
#include "framework/resource_args.hpp"

namespace koord::scheduler {

void set_default_resources(std::vector<ResourceSpec>& resources) {
  if (resources.empty()) resources = {{"cpu", 1}, {"memory", 1}};
  for (ResourceSpec& r : resources)
    if (r.weight == 0) r.weight = 1;
}

std::vector<ResourceScorer::Resource> scored_resources(const std::vector<ResourceSpec>& specs,
                                                       NodeTable& nodes) {
  std::vector<ResourceScorer::Resource> resources;
  resources.reserve(specs.size());
  for (const ResourceSpec& spec : specs)
    resources.push_back({nodes.resources().id(spec.name), is_scalar_resource(spec.name), spec.weight});
  return resources;
}

}  // namespace koord::scheduler

namespace koord::api {

template <>
const Schema& schema<koord::scheduler::ResourceSpec>() {
  using T = koord::scheduler::ResourceSpec;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").required().doc("Name of the resource."),
      KOORD_FIELD(weight, "weight").doc("Weight of the resource, 1 to 100."),
  };
  static const Schema kSchema("ResourceSpec", kRows, type_of<T>);
  return kSchema;
}

}  // namespace koord::api
