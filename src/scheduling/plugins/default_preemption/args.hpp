// DefaultPreemptionArgs: how many nodes preemption looks at.
#pragma once

#include <cstdint>

#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling::default_preemption {

struct DefaultPreemptionArgs {
  std::int32_t min_candidate_nodes_percentage = 0;
  std::int32_t min_candidate_nodes_absolute = 0;

  void validate(const std::string& path, FieldErrors& errors) const;
  KOORD_STRUCT(DefaultPreemptionArgs);
};

}  // namespace koord::scheduling::default_preemption
