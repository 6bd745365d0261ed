// Topology spread constraints of a pod, as they are written, read once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "koord/api/rules/selector.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling::pod_topology_spread {

inline constexpr std::string_view kDoNotSchedule = "DoNotSchedule";
inline constexpr std::string_view kScheduleAnyway = "ScheduleAnyway";
inline constexpr std::string_view kHostname = "kubernetes.io/hostname";

struct Constraint {
  std::int32_t max_skew;
  std::int32_t min_domains;
  Symbol key;
  /// With what matchLabelKeys adds; absent: it selects nothing.
  std::optional<api::LabelSelector> selector;
  bool honor_affinity, honor_taints;
};

/// Those with this whenUnsatisfiable, of a pod with these labels.
std::vector<Constraint> read(std::span<const api::TopologySpreadConstraint> constraints,
                             const api::SymbolMap& labels, std::string_view action);

/// A constraint's selector; an error says what is wrong with it.
Result<api::Selector> selector_of(const Constraint& constraint);

}  // namespace koord::scheduling::pod_topology_spread
