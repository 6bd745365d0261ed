// Outlook: what the cluster would look like if the pods that a dry run chose had moved.
#pragma once

#include <span>
#include <vector>

#include "framework/snapshot.hpp"
#include "passes/report.hpp"

namespace koord::descheduler {

/// A pod that goes, and where to; nullptr: nowhere, it would wait.
struct Move {
  PodPtr pod;
  const NodeView* to = nullptr;
};

/// Fills in changed and spread. Usage is what the nodes' and pods' NodeMetrics say, however old; a pod whose
/// usage is not known moves none.
void add_outlook(PassReport& report, const Snapshot& snapshot, std::span<const Move> moves);

}  // namespace koord::descheduler
