// What Koordinator's runtime proxy goes by.
#pragma once

#include <string_view>

namespace koord::api {

/// A label of pods that are a hook server's own, which nobody is asked about (`"true"`).
inline constexpr std::string_view kSkipHookServer = "runtimeproxy.koordinator.sh/skip-hookserver";

}  // namespace koord::api
