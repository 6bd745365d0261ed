// NodeNUMAResourceArgs.
#pragma once

#include <optional>
#include <string>

#include "koord/api/values/box.hpp"
#include "koord/scheduling/scoring/resource_args.hpp"

namespace koord::scheduling::node_numa_resource {

struct NodeNUMAResourceArgs {
  std::optional<std::string> default_cpu_bind_policy;  // FullPCPUs, SpreadByPCPUs or empty
  api::Box<KoordinatorScoring> scoring_strategy;
  api::Box<KoordinatorScoring> numa_scoring_strategy;

  void validate(const std::string&, FieldErrors& errors) const;
  KOORD_STRUCT(NodeNUMAResourceArgs);
};

}  // namespace koord::scheduling::node_numa_resource
