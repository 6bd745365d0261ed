// Taints and tolerations.
#pragma once

#include <span>
#include <string_view>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::api {

inline constexpr std::string_view kNoSchedule = "NoSchedule";
inline constexpr std::string_view kPreferNoSchedule = "PreferNoSchedule";
inline constexpr std::string_view kNoExecute = "NoExecute";

/// An empty effect or key matches any; an empty operator means Equal. The operators Lt and Gt (gate
/// TaintTolerationComparisonOperators, alpha and off in 1.35) tolerate nothing unless `comparisons` is set;
/// then the taint's value must be less or greater than the toleration's, both plain decimal integers.
bool tolerates(const Toleration& toleration, const Taint& taint, bool comparisons = false);
bool tolerates(std::span<const Toleration> tolerations, const Taint& taint, bool comparisons = false);

/// The first taint with one of the effects that keep a pod away (NoSchedule, NoExecute) and that nothing
/// tolerates; nullptr if there is none.
const Taint* untolerated(std::span<const Taint> taints, std::span<const Toleration> tolerations,
                         bool comparisons = false);
/// How many PreferNoSchedule taints nothing tolerates: what the scheduler scores by.
std::size_t count_untolerated_preferences(std::span<const Taint> taints,
                                          std::span<const Toleration> tolerations, bool comparisons = false);

}  // namespace koord::api
