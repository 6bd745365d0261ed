// NodeNUMAResourceArgs.
#pragma once

#include <optional>
#include <string>

#include "framework/resource_args.hpp"
#include "koord/api/values/box.hpp"

namespace koord::scheduler::node_numa_resource {

struct NodeNUMAResourceArgs {
  std::optional<std::string> default_cpu_bind_policy;  // FullPCPUs, SpreadByPCPUs or empty
  api::Box<KoordinatorScoring> scoring_strategy;
  api::Box<KoordinatorScoring> numa_scoring_strategy;

  void validate(const std::string&, FieldErrors& errors) const;
  KOORD_STRUCT(NodeNUMAResourceArgs);
};

}  // namespace koord::scheduler::node_numa_resource
