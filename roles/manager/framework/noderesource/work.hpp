// What the formulas of batch and mid resources, a node's and its zones', are worked out of.
#pragma once

#include <functional>

#include "framework/noderesource/cpu_memory.hpp"
#include "framework/noderesource/node_view.hpp"
#include "koord/api/koordinator/classes.hpp"

namespace koord::manager {

/// What a pod counts with.
struct PodWork {
  const api::Pod* pod = nullptr;  // null: it is not there any more, its metric is
  bool low = false;               // batch or free: it does not count
  bool prod = false;              // not mid either
  CpuMemory requests = {};
  CpuMemory counted = {};  // what it uses; an LSE pod's CPUs as requested, all that is not measured, too
  CpuMemory larger = {};   // the larger of what it uses and asked for
};

/// The running and pending pods, then metrics without a pod. For a view that is not stale.
void for_each_pod(const NodeView& view, const std::function<void(const PodWork&)>& visit);

/// The pods of a node or a zone together.
struct Work {
  CpuMemory high_requests;  // of pods that are neither batch nor free
  CpuMemory high_used;      // theirs, and that of pods that are not there any more
  CpuMemory high_larger;    // for each pod the larger of both
  CpuMemory prod_requests;  // of pods that are not mid either
};

/// Of all of the node's. For a view that is not stale.
Work work_of(const NodeView& view);

/// The larger of what the kubelet keeps (capacity - allocatable) and the annotation
/// node.koordinator.sh/reservation.
CpuMemory reserved_of(const api::Node& node);
/// What the system uses, and host applications of a higher priority than `lent`. For a view that is not
/// stale.
CpuMemory system_used(const NodeView& view, api::KoordPriority lent);

}  // namespace koord::manager
