// What the scheduler writes into pods: conditions, the nominated node, what plugins change.
#pragma once

#include "koord/scheduling/plugin/placed_kind.hpp"

namespace koord::scheduler {

/// Pods, placed as themselves. A failure is PodScheduled=False, a victim is told DisruptionTarget.
const scheduling::PlacedKind& pod_kind();

}  // namespace koord::scheduler
