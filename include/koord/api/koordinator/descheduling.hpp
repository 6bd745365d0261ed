// What pods say to the descheduler: annotations.
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

}  // namespace koord::api
