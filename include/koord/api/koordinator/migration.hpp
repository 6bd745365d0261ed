// What PodMigrationJobs say beside their spec: annotations.
#pragma once

#include <string_view>

namespace koord::api {

/// "true": the arbitrator has let the job go. What stands on the job outlives the process.
inline constexpr std::string_view kPassedArbitrationAnnotation =
    "descheduler.koordinator.sh/passed-arbitration";
/// Why the pod is to go, for people.
inline constexpr std::string_view kEvictReasonAnnotation = "koordinator.sh/evict-reason";
/// The plugin that chose the pod.
inline constexpr std::string_view kEvictTriggerAnnotation = "koordinator.sh/evict-trigger";
/// The process that made the job; for people, whoever leads goes on with it.
inline constexpr std::string_view kJobCreatedByAnnotation = "koordinator.sh/job-created-by";
/// The profile whose rules the job is arbitrated by.
inline constexpr std::string_view kJobProfileAnnotation = "descheduler.koordinator.sh/profile";
/// The UID of the pod's controller, noted when the arbitrator lets the job go: whose pods are evicted too
/// often is known after the pod has gone, too.
inline constexpr std::string_view kJobWorkloadAnnotation = "descheduler.koordinator.sh/workload-uid";
/// The node from which the pod goes, noted at the same time: no other of its workload comes to it at once.
inline constexpr std::string_view kJobNodeAnnotation = "descheduler.koordinator.sh/from-node";

}  // namespace koord::api
