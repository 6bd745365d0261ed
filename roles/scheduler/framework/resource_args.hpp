// The argument structs that plugins about resources share (kubescheduler.config.k8s.io/v1).
#pragma once

#include <string>
#include <vector>

#include "framework/args.hpp"
#include "framework/resource_score.hpp"

namespace koord::scheduler {

struct ResourceSpec {
  std::string name;
  std::int64_t weight = 0;
  KOORD_STRUCT(ResourceSpec);
};

/// cpu and memory with weight 1 where nothing is named; weight 1 where none is given.
void set_default_resources(std::vector<ResourceSpec>& resources);
std::vector<ResourceScorer::Resource> scored_resources(const std::vector<ResourceSpec>& specs,
                                                       NodeTable& nodes);

}  // namespace koord::scheduler
