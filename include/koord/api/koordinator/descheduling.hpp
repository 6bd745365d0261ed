// What pods say to the descheduler, and are told by it: annotations and labels.
#pragma once

#include <cstdint>
#include <string_view>

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

/// Pods with this annotation, whatever it says, may be evicted whatever else speaks against it.
inline constexpr std::string_view kEvictAnnotation = "descheduler.alpha.kubernetes.io/evict";
inline constexpr std::string_view kEvictionCostAnnotation = "scheduling.koordinator.sh/eviction-cost";
/// How dear it is to evict a pod with these annotations. 0 where none is said, and where it is no number of
/// 32 bits, or has a plus sign or leading zeros.
std::int32_t eviction_cost(const SymbolMap& annotations);
/// The same of Kubernetes' own: which pods of a ReplicaSet go first when it shrinks.
inline constexpr std::string_view kDeletionCostAnnotation = "controller.kubernetes.io/pod-deletion-cost";
std::int32_t deletion_cost(const SymbolMap& annotations);
/// A pod's, and a PodMigrationJob's: how the pod is to be asked to go ("Eviction", "Delete", "SoftEviction").
inline constexpr std::string_view kEvictPolicyLabel = "koordinator.sh/evict-policy";
/// Asks whoever owns the pod to let it go: JSON with timestamp, deleteOptions, initiator and reason.
inline constexpr std::string_view kSoftEvictionAnnotation = "scheduling.koordinator.sh/soft-eviction";

}  // namespace koord::api
