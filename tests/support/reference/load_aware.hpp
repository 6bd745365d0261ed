// Koordinator's LoadAwareScheduling, for the scheduler's oracle.
#pragma once

#include "support/reference/state.hpp"

namespace koord::reference {

Filtered load_filter(const Cluster& cluster, const LoadArgs& args, const api::Pod& pod,
                     const api::Node& node);
RawScores load_scores(const Cluster& cluster, const LoadArgs& args, const api::Pod& pod,
                      const Feasible& nodes);

}  // namespace koord::reference
