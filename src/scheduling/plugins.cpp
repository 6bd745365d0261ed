// The scheduler's plugins. The order is kube-scheduler's MultiPoint order, then Koordinator's own; a new
// plugin is a folder under plugins/, its row here, a test and a line in README.md.
#include "koord/scheduling/plugins.hpp"

#include <iterator>

namespace koord::scheduling {

// A line each.
// clang-format off
extern const PluginEntry
    kSchedulingGates,
    kPrioritySort,
    kNodeUnschedulable,
    kNodeName,
    kTaintToleration,
    kNodeAffinity,
    kNodePorts,
    kNodeResourcesFit,
    kVolumeRestrictions,
    kNodeVolumeLimits,
    kVolumeBinding,
    kVolumeZone,
    kPodTopologySpread,
    kInterPodAffinity,
    kDynamicResources,
    kDefaultPreemption,
    kNodeResourcesBalancedAllocation,
    kImageLocality,
    kDefaultBinder,
    kGangScheduling,
    kLoadAwareScheduling,
    kSchedulingHint,
    kNodeNUMAResource,
    kDeviceShare,
    kReservation,
    kElasticQuota,
    kCoscheduling,
    kNodeResourcesFitPlus,
    kScarceResourceAvoidance,
    kFragmentationGradient,
    kDefaultPreBind;

PluginTable plugin_table() {
  static constexpr const PluginEntry* kTable[] = {
      &kSchedulingGates,
      &kPrioritySort,
      &kNodeUnschedulable,
      &kNodeName,
      &kTaintToleration,
      &kNodeAffinity,
      &kNodePorts,
      &kNodeResourcesFit,
      &kVolumeRestrictions,
      &kNodeVolumeLimits,
      &kVolumeBinding,
      &kVolumeZone,
      &kPodTopologySpread,
      &kInterPodAffinity,
      &kDynamicResources,
      &kDefaultPreemption,
      &kNodeResourcesBalancedAllocation,
      &kImageLocality,
      &kDefaultBinder,
      &kGangScheduling,
      &kLoadAwareScheduling,
      &kSchedulingHint,
      &kNodeNUMAResource,
      &kDeviceShare,
      &kReservation,
      &kElasticQuota,
      &kCoscheduling,
      &kNodeResourcesFitPlus,
      &kScarceResourceAvoidance,
      &kFragmentationGradient,
      &kDefaultPreBind,
  };
  static_assert(std::size(kTable) < kNoPlugin, "the extenders' stand-in has a place, too");
  return kTable;
}
// clang-format on

extern const metrics::Table kReservationGauges, kReservationQueries, kQuotaMetrics, kGangMetrics,
    kDeviceMetrics;

std::span<const metrics::Table> plugin_metrics() {
  static const metrics::Table kTables[] = {kReservationGauges, kReservationQueries, kQuotaMetrics,
                                           kGangMetrics, kDeviceMetrics};
  return kTables;
}

}  // namespace koord::scheduling
