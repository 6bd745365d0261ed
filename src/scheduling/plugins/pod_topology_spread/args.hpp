// PodTopologySpreadArgs: what pods without constraints of their own are spread by.
#pragma once

#include <string>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling::pod_topology_spread {

struct PodTopologySpreadArgs {
  std::vector<api::TopologySpreadConstraint> default_constraints;
  std::string defaulting_type;  // System, List

  void validate(const std::string& path, FieldErrors& errors) const;
  bool by_system() const { return defaulting_type == "System"; }
  KOORD_STRUCT(PodTopologySpreadArgs);
};

/// What System stands for: by node within 3 and by zone within 5 pods, both only preferred.
std::vector<api::TopologySpreadConstraint> system_constraints();

}  // namespace koord::scheduling::pod_topology_spread
