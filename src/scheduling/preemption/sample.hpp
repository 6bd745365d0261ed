// Sample: how many of the nodes on which preemption could help it looks at.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace koord::scheduling::preemption {

/// The arguments minCandidateNodesPercentage and minCandidateNodesAbsolute.
struct Sample {
  std::int32_t percentage = 10;
  std::int32_t absolute = 100;

  /// How many candidates are enough, of so many nodes on which preemption could help.
  std::size_t of(std::size_t nodes) const {
    const std::size_t share = nodes * static_cast<std::size_t>(percentage) / 100;
    return std::min(std::max(share, static_cast<std::size_t>(absolute)), nodes);
  }
};

}  // namespace koord::scheduling::preemption
