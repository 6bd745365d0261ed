// The feature gate without which nobody drains nodes.
#pragma once

#include <string_view>

namespace koord::descheduler {

/// Alpha, off by default: the plugin Drain, its flags' row and its rights go by it.
inline constexpr std::string_view kDrainGate = "Drain";

}  // namespace koord::descheduler
