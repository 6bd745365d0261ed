// What pods and nodes say to the scheduler beside what the plugins' own headers here have.
#pragma once

#include <string_view>

namespace koord::api {

// Labels of pods.
inline constexpr std::string_view
    kSchedulerNameLabel = "scheduling.koordinator.sh/scheduler-name",        // in place of spec.schedulerName
    kPreemptionPolicyLabel = "scheduling.koordinator.sh/preemption-policy",  // Never, PreemptLowerPriority
    kDisablePreemptibleLabel = "scheduling.koordinator.sh/disable-preemptible",
    kQuestionedObjectKeyLabel = "scheduling.koordinator.sh/questioned-object-key",
    kTopologyKeyToExplainLabel = "scheduling.koordinator.sh/topology-key-to-explain";

// Annotations of pods.
inline constexpr std::string_view
    kOriginalSchedulerName = "internal.scheduling.koordinator.sh/original-scheduler-name",
    kSchedulingHint = "internal.scheduling.koordinator.sh/scheduling-hint",
    kOldSchedulingHint = "scheduling.koordinator.sh/scheduling-hint",
    kReplaceResources = "pod.koordinator.sh/replace-resources",  // "a:b,c:": a is b, c is nothing
    kLoadEstimatedScalingFactors = "scheduling.koordinator.sh/load-estimated-scaling-factors",
    kLoadEstimatedAfterScheduled = "scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled",
    kLoadEstimatedAfterInitialized = "scheduling.koordinator.sh/load-estimated-seconds-after-initialized",
    kDeviceBindTimestamp = "scheduling.koordinator.sh/bind-timestamp";

// Annotations of nodes.
inline constexpr std::string_view kUsageThresholds = "scheduling.koordinator.sh/usage-thresholds";

}  // namespace koord::api
