// What is said of nodes: labels and annotations of Node and NodeResourceTopology that more than one role
// knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/schema/schema.hpp"

namespace koord::api {

/// What of a node an operator keeps for what is not in pods.
struct NodeReservation {
  static constexpr std::string_view kAnnotation = "node.koordinator.sh/reservation";

  ResourceList resources;
  std::string reserved_cpus;  // a list as the kernel has it, "0-3,8"; in place of resources' cpu
  std::string apply_policy;   // Default (also when empty), ReservedCPUsOnly
  KOORD_STRUCT(NodeReservation);
};
/// Whether the scheduler takes the amounts from what is allocatable. Only the scheduler asks: node agent and
/// manager keep them back whatever the policy.
bool reduces_allocatable(const NodeReservation& reservation);

/// CPUs for pods of the class SYSTEM.
struct SystemQosResource {
  static constexpr std::string_view kAnnotation = "node.koordinator.sh/system-qos-resource";

  std::string cpuset;
  std::optional<bool> cpuset_exclusive;  // absent: true
  KOORD_STRUCT(SystemQosResource);
};

/// cpu and memory as they were before they were amplified (AnnotatedResources).
inline constexpr std::string_view kRawAllocatable = "node.koordinator.sh/raw-allocatable";

/// By how much amounts are amplified, by resource: {"cpu":1.50}.
struct AmplificationRatios {
  static constexpr std::string_view kAnnotation = "node.koordinator.sh/resource-amplification-ratio";

  FlatMap<double> ratios;
  friend bool operator==(const AmplificationRatios&, const AmplificationRatios&) = default;
};
Result<> decode_annotation(std::string_view text, AmplificationRatios& to);
std::string encode_annotation(const AmplificationRatios& value);  // two digits behind the point

/// By how much a node's CPUs are faster than those that pods ask for: "1.20". Nothing where that is not said;
/// Code::parse of what is no number above 0 and up to 1000.
inline constexpr std::string_view kCpuNormalizationRatio = "node.koordinator.sh/cpu-normalization-ratio";
Result<std::optional<double>> cpu_normalization_ratio(const SymbolMap& annotations);
/// The same of its text, of which an empty one says nothing.
Result<std::optional<double>> parse_cpu_normalization_ratio(std::string_view text);

inline constexpr std::string_view kCpuNormalizationEnabled = "node.koordinator.sh/cpu-normalization-enabled",
                                  kEnableNumaReservation = "node.koordinator.sh/enable-numa-reservation",
                                  kNetworkBandwidth = "node.koordinator.sh/network-bandwidth";

// What is lent to batch and mid pods; how much of it: colocation.hpp.
inline constexpr std::string_view kOriginExtendedAllocatable =
                                      "node.koordinator.sh/originExtendedAllocatable",
                                  kOvercommitStanding =
                                      "node.koordinator.sh/overcommit-standing";  // koord's own

struct ThirdPartyAllocation {
  std::string name;
  std::string priority;  // whose resources: kKoordPriorityNames
  ResourceList resources;
  KOORD_STRUCT(ThirdPartyAllocation);
};
/// What others than Kubernetes (YARN, say) have taken of what is lent.
struct ThirdPartyAllocations {
  static constexpr std::string_view kAnnotation = "node.koordinator.sh/thirdPartyAllocations";

  std::vector<ThirdPartyAllocation> allocations;
  KOORD_STRUCT(ThirdPartyAllocations);
};

// How the scheduler gives out CPUs and memory nodes.
inline constexpr std::string_view kCpuBindPolicyLabel = "node.koordinator.sh/cpu-bind-policy",
                                  kNumaTopologyPolicyLabel = "node.koordinator.sh/numa-topology-policy",
                                  kNumaAllocateStrategyLabel = "node.koordinator.sh/numa-allocate-strategy";

}  // namespace koord::api
