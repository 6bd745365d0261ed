// What pods say to the node agent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/koordinator/pod_cpu_qos.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

namespace koord::api {

// Annotations that change a NodeSLO's strategies for one pod: what they do not say is the node's.

struct PodCpuBurst {
  static constexpr std::string_view kAnnotation = "koordinator.sh/cpuBurst";

  std::string policy;  // none, cpuBurstOnly, cfsQuotaBurstOnly, auto; empty: the node's
  std::optional<std::int64_t> cpu_burst_percent;
  std::optional<std::int64_t> cfs_quota_burst_percent;
  std::optional<std::int64_t> cfs_quota_burst_period_seconds;
  KOORD_STRUCT(PodCpuBurst);
};

struct PodMemoryQos {
  static constexpr std::string_view kAnnotation = "koordinator.sh/memoryQOS";

  std::string policy;  // none, auto, default; empty is default
  MemoryQos qos;       // over what the policy gives; inlined on the wire
  KOORD_STRUCT(PodMemoryQos);
};

inline constexpr std::string_view kResctrl = "node.koordinator.sh/resctrl";

inline constexpr std::int64_t kLeastOomScore = -1000, kMostOomScore = 1000;
/// The oom_score_adj of a pod's containers (koordinator.sh/oom-score-adj: a number); nothing: it says none.
/// Code::parse of what is none within the kernel's range.
inline constexpr std::string_view kOomScoreAdj = "koordinator.sh/oom-score-adj";
Result<std::optional<std::int64_t>> oom_score(const ObjectMeta& pod);

/// Those of single containers, by their names: {"main":-500}. A score may be out of the kernel's range: then
/// that container has none.
struct OomScores {
  static constexpr std::string_view kAnnotation = "koordinator.sh/oom-score-adj-spec";

  FlatMap<std::int64_t> by_container;
  friend bool operator==(const OomScores&, const OomScores&) = default;
};
/// Code::too_large: more than kMostContainers.
Result<> decode_annotation(std::string_view text, OomScores& to);
std::string encode_annotation(const OomScores& value);

/// In an annotation; no pod has more.
inline constexpr std::size_t kMostContainers = 1024;

// Who may be evicted, and when.
inline constexpr std::string_view kEvictionEnabledLabel = "koordinator.sh/eviction-enabled";
bool is_eviction_enabled(const ObjectMeta& pod);
/// The only feature gates whose evictions a pod takes; nothing: all of them. An error: none of them; an empty
/// text is one, as it is upstream, and more than 64 names are.
inline constexpr std::string_view kEvictionPolicy = "koordinator.sh/eviction-policy";
Result<std::optional<AnnotatedNames>> eviction_policies(const ObjectMeta& pod);
/// Lower ones go first; 0 where nothing is said. Code::parse of what is no 32-bit number.
inline constexpr std::string_view kEvictionPriority = "koordinator.sh/eviction-priority";
Result<std::int32_t> eviction_priority(const ObjectMeta& pod);

// Who may run on a CPU beside whom.
inline constexpr std::string_view kCoreSchedGroupLabel = "koordinator.sh/core-sched-group-id",
                                  kCoreSchedPolicyLabel = "koordinator.sh/core-sched-policy";

struct ExtendedContainerSpec {
  ResourceList limits;
  ResourceList requests;
  KOORD_STRUCT(ExtendedContainerSpec);
};
/// What containers have of batch resources, written by the webhook for a runtime that does not see the spec.
struct ExtendedResourceSpec {
  static constexpr std::string_view kAnnotation = "node.koordinator.sh/extended-resource-spec";

  FlatMap<ExtendedContainerSpec> containers;
  KOORD_STRUCT(ExtendedResourceSpec);
};
/// Code::too_large: more than kMostContainers.
Result<> decode_annotation(std::string_view text, ExtendedResourceSpec& to);

}  // namespace koord::api
