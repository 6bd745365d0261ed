// What pods say to the node agent.
#pragma once

#include <string_view>

#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::api {

// Annotations that change a NodeSLO's strategies for one pod.
inline constexpr std::string_view kCpuBurst = "koordinator.sh/cpuBurst", kCpuQos = "koordinator.sh/cpuQOS",
                                  kMemoryQos = "koordinator.sh/memoryQOS",
                                  kBlkioQos = "koordinator.sh/blkioQOS",
                                  kNetworkQos = "koordinator.sh/networkQOS",
                                  kResctrl = "node.koordinator.sh/resctrl",
                                  kOomScoreAdj = "koordinator.sh/oom-score-adj",
                                  kOomScoreAdjSpec = "koordinator.sh/oom-score-adj-spec";

// Who may be evicted, and when.
inline constexpr std::string_view kEvictionEnabledLabel = "koordinator.sh/eviction-enabled";
inline constexpr std::string_view kEvictionPolicy = "koordinator.sh/eviction-policy",  // AnnotatedNames
    kEvictionPriority = "koordinator.sh/eviction-priority";

// Who may run on a CPU beside whom.
inline constexpr std::string_view kCoreSchedGroupLabel = "koordinator.sh/core-sched-group-id",
                                  kCoreSchedPolicyLabel = "koordinator.sh/core-sched-policy";

/// What containers have of batch resources, written by the webhook for a runtime that does not see the spec:
/// {"containers":{NAME:{"limits":{},"requests":{}}}}.
inline constexpr std::string_view kExtendedResourceSpec = "node.koordinator.sh/extended-resource-spec";

}  // namespace koord::api
