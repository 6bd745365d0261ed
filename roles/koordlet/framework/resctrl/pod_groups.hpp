// The groups of resctrl that pods of their own parts have.
#pragma once

#include <string>
#include <string_view>

namespace koord::koordlet {

/// What their names begin with: upstream's.
inline constexpr std::string_view kPodGroups = "koordlet-";

/// The name of a pod's group; empty: its uid can be no part of a folder's name.
std::string pod_group(std::string_view uid);

}  // namespace koord::koordlet
