// What groups, nodes, reservations and jobs of a drain say beside their specs: labels, a taint, annotations.
#pragma once

#include <string_view>

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

// Labels of a DrainNodeGroup. "true": the drain ends, and what it did is undone.
inline constexpr std::string_view kDrainAbortLabel = "drain.descheduler.koordinator.sh/abort";
/// The same, also once it has ended: nodes get their taints and labels back.
inline constexpr std::string_view kDrainCleanTaintLabel = "drain.descheduler.koordinator.sh/clean-taint";

/// On reservations and jobs: the DrainNode that made them. The key of its nodes' taints, too.
inline constexpr std::string_view kDrainNodeLabel = "drain.descheduler.koordinator.sh/drain-node";
// On a DrainNode: its group and its node. The first also on nodes of a group.
inline constexpr std::string_view kDrainGroupLabel = "drain.descheduler.koordinator.sh/node-group",
                                  kDrainNodeNameLabel = "drain.descheduler.koordinator.sh/node-name";
/// On nodes that are being drained; reservations of drains do not go there.
inline constexpr std::string_view kDrainPlanningLabel = "drain.descheduler.koordinator.sh/node-planning";
// On reservations: the pod that they are for.
inline constexpr std::string_view kDrainPodNamespaceLabel = "drain.descheduler.koordinator.sh/pod-namespace",
                                  kDrainPodNameLabel = "drain.descheduler.koordinator.sh/pod-name";

/// A pod's own DrainMigrationPolicy, as JSON.
inline constexpr std::string_view kDrainMigrationPolicyAnnotation =
    "drain.descheduler.koordinator.sh/migration-policy";
/// On a DrainNode, whatever it says: jobs of pods that came after it was confirmed begin paused.
inline constexpr std::string_view kDrainPausedAfterConfirmedAnnotation =
    "drain.descheduler.koordinator.sh/paused-after-confirmed";

/// On a DrainNode that its group has refused, koord's own: why its pods have nowhere to go, for people.
inline constexpr std::string_view kDrainUnavailableAnnotation =
    "drain.descheduler.koordinator.sh/unavailable";

/// On a node that is cordoned by labels, koord's own: which of them are the drain's, and what they said
/// before. Written with the labels, and taken away with them.
struct DrainCordonLabels {
  static constexpr std::string_view kAnnotation = "drain.descheduler.koordinator.sh/cordon-labels";

  std::string drain_node;
  SymbolMap set;   // only what was not so already
  SymbolMap were;  // of these: those that said something else
  KOORD_STRUCT(DrainCordonLabels);
};

}  // namespace koord::api
