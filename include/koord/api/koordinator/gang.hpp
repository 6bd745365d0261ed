// Gangs: pods that are placed together or not at all, by a PodGroup's label, by labels, or by annotations.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

// Labels. The last two are those of lightweight coscheduling, which came before the annotations.
inline constexpr std::string_view kPodGroupLabel = "pod-group.scheduling.sigs.k8s.io",
                                  kGangNameLabel = "pod-group.scheduling.sigs.k8s.io/name",
                                  kGangMinLabel = "pod-group.scheduling.sigs.k8s.io/min-available";
// Annotations of pods, and of PodGroups for what their spec does not say.
inline constexpr std::string_view kGangName = "gang.scheduling.koordinator.sh/name",
                                  kGangMin = "gang.scheduling.koordinator.sh/min-available",
                                  kGangTotal = "gang.scheduling.koordinator.sh/total-number",
                                  kGangWaitingTime = "gang.scheduling.koordinator.sh/waiting-time",
                                  kGangTimeout = "gang.scheduling.koordinator.sh/timeout",
                                  kGangMode = "gang.scheduling.koordinator.sh/mode",
                                  kGangGroups = "gang.scheduling.koordinator.sh/groups",
                                  kGangMatchPolicy = "gang.scheduling.koordinator.sh/match-policy",
                                  kGangMatchPolicyAlias = "pod-group.scheduling.sigs.k8s.io/match-policy",
                                  kNetworkTopologyIndex =
                                      "gang.scheduling.koordinator.sh/network-topology-index",
                                  kNetworkTopologySelector =
                                      "scheduling.koordinator.sh/network-topology-selector";
// Written when members are bound together; the last two are copies under the names that they had before.
inline constexpr std::string_view kBindGangGroupId = "internal.scheduling.koordinator.sh/bind-gang-group-id",
                                  kBindGangMemberCount =
                                      "internal.scheduling.koordinator.sh/bind-gang-member-count",
                                  kOldBindGangGroupId = "scheduling.koordinator.sh/bind-gang-group-id",
                                  kOldBindGangMemberCount =
                                      "scheduling.koordinator.sh/bind-gang-member-count";

enum class GangSource : std::uint8_t { pod_group, labels, annotations };
struct GangReference {
  Symbol name;  // in the pod's namespace
  GangSource source = GangSource::pod_group;
  friend bool operator==(const GangReference&, const GangReference&) = default;
};
/// The gang that a pod names: by the first of the sources that says one.
std::optional<GangReference> gang_of(const ObjectMeta& pod);

enum class GangMatchPolicy : std::uint8_t { only_waiting, waiting_and_running, once_satisfied };

struct NetworkTopologyGatherRule {
  Symbol layer;
  Symbol strategy;  // MustGather, PreferGather
  std::optional<int32_t> pod_count_multiple;
  KOORD_STRUCT(NetworkTopologyGatherRule);
};
/// How near to one another the members are to be.
struct NetworkTopologySpec {
  static constexpr std::string_view kAnnotation = "gang.scheduling.koordinator.sh/network-topology-spec";

  std::vector<NetworkTopologyGatherRule> gather_strategy;
  KOORD_STRUCT(NetworkTopologySpec);
};

/// What a pod (or a PodGroup) says of its gang. What makes no sense counts as if it were not said, but for
/// `min`.
struct GangTerms {
  std::optional<int32_t> min;  // nothing: not said, or no number, and the gang waits for one who says it
  int32_t total = 0;           // at least min
  std::optional<std::chrono::nanoseconds> waiting_time;  // positive; nothing: the plugin's default
  bool strict = true;
  std::optional<GangMatchPolicy> match_policy;  // nothing: the plugin's default
  std::vector<std::string> groups;              // "namespace/name"; empty: itself alone
  std::optional<NetworkTopologySpec> topology;  // nothing: its members may be anywhere
  friend bool operator==(const GangTerms&, const GangTerms&) = default;
};
GangTerms gang_terms(const ObjectMeta& object);
/// Of what gang_terms passed over, a line each: for the log and for events, at most 16.
std::vector<std::string> gang_warnings(const ObjectMeta& object);

/// Gangs that are placed together have one: their "namespace/name", sorted, by commas.
std::string gang_group_id(std::vector<std::string> groups);

/// A member's place in its gang; nothing if it says none, or no number.
std::optional<std::int64_t> network_topology_index(const ObjectMeta& pod);

}  // namespace koord::api
