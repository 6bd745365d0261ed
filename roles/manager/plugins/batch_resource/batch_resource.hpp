// The plugin BatchResource: what a node has beside what pods of high priority use, lent as batch resources.
#pragma once

#include "framework/noderesource/plugin.hpp"
#include "framework/noderesource/work.hpp"

namespace koord::manager {

/// capacity - margin - max(system, reserved) - what pods of high priority use, from 0 (policy usage);
/// requests, or for each pod the larger of both, in place of what is used (policies request, of memory alone,
/// and maxUsageRequest); at most the batch thresholds of the capacity. Batch and free pods do not count; a
/// pod without a metric counts with its requests; an LSE pod's CPUs count as requested; metrics of pods that
/// are not there (any more) count unless they say that the pod was batch or free. Only for a view that is not
/// stale.
OvercommitAmount batch_amount(const NodeView& view);

struct Supply {
  CpuMemory total, reserved, system;
};
/// The formula of batch_amount(): from 0, neither rounded nor in milli-cores.
CpuMemory batch_of(const ColocationStrategy& strategy, const Supply& supply, const Work& work);

/// Writes it into capacity and allocatable; nothing: they go. CPU is multiplied by `ratio`, how fast the
/// node's CPUs are, if that is above 1, and rounded up. The annotation
/// node.koordinator.sh/originExtendedAllocatable says all that is lent, and what
/// node.koordinator.sh/thirdPartyAllocations takes of it (YARN's, say) is gone from the node's. A node that
/// lends nothing and never did is not annotated.
void set_batch(api::Node& node, const std::optional<OvercommitAmount>& amount, double ratio = 1);

}  // namespace koord::manager
