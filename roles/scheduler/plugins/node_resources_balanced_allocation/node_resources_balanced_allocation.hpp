// NodeResourcesBalancedAllocation: prefers nodes whose resources are used to a like degree.
#pragma once

#include "framework/resource_args.hpp"

namespace koord::scheduler::node_resources_balanced_allocation {

struct NodeResourcesBalancedAllocationArgs {
  std::vector<ResourceSpec> resources;

  void set_defaults() { set_default_resources(resources); }
  void validate(const std::string& path, FieldErrors& errors) const;
  KOORD_STRUCT(NodeResourcesBalancedAllocationArgs);
};

extern const ArgsType kArgs;
Result<std::unique_ptr<Plugin>> make(const Args& args, const PluginContext& context);

}  // namespace koord::scheduler::node_resources_balanced_allocation
