// DefaultPreemptionArgs: how many nodes preemption looks at.
#pragma once

#include <cstdint>

#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling::default_preemption {

struct DefaultPreemptionArgs {
  std::int32_t min_candidate_nodes_percentage = 0;
  std::int32_t min_candidate_nodes_absolute = 0;

  /// How many candidates are enough, of so many nodes on which preemption could help.
  std::size_t candidates(std::size_t nodes) const;
  void validate(const std::string& path, FieldErrors& errors) const;
  KOORD_STRUCT(DefaultPreemptionArgs);
};

}  // namespace koord::scheduling::default_preemption
