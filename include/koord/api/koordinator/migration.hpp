// What PodMigrationJobs say beside their spec: annotations.
#pragma once

#include <string_view>

namespace koord::api {

/// "true": the arbitrator has let the job go. What stands on the job outlives the process.
inline constexpr std::string_view kPassedArbitrationAnnotation =
    "descheduler.koordinator.sh/passed-arbitration";
/// Why the pod is to go, for people.
inline constexpr std::string_view kEvictReasonAnnotation = "koordinator.sh/evict-reason";

}  // namespace koord::api
