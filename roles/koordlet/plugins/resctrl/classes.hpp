// The groups of resctrl that classes of pods have.
#pragma once

#include <array>
#include <string_view>

#include "framework/model/inventory.hpp"

namespace koord::koordlet::resctrl {

/// Upstream's names. LSE pods are in LSR's group.
inline constexpr std::array<std::string_view, 3> kClassGroups = {"LSR", "LS", "BE"};
inline constexpr std::size_t kBe = 2;

/// Where a class is only counted.
inline constexpr std::string_view kCountedBelow = "mon_groups/";

/// The place in kClassGroups of the class that the pod is in; where it says none, that which its kind of the
/// kubelet's stands for. kClassGroups.size(): none of these.
std::size_t class_of(const PodInfo& pod);

/// The pod has said parts of its own, which make sense; they count while the hook is on.
bool has_own_parts(const PodInfo& pod);

}  // namespace koord::koordlet::resctrl
