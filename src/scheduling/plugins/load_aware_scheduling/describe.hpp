// What the scheduler believes a node uses, as JSON for people who look into it.
#pragma once

#include <string>
#include <string_view>

#include "scheduling/plugins/load_aware_scheduling/node_loads.hpp"

namespace koord::scheduling::load_aware {

/// As the original answers at /apis/v1/plugins/LoadAwareScheduling/node/NODE; "{}" where nothing is known.
std::string describe(const NodeLoads& loads, std::string_view node);

}  // namespace koord::scheduling::load_aware
