// The claims that a stored pod uses.
#pragma once

#include <string_view>

#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

/// Calls each(name, ephemeral) for every one; the pod is not parsed.
template <class Each>
void for_each_claim(const Object& pod, const Each& each) {
  for (std::string_view rest = pod.field(kClaimsField); !rest.empty();) {
    const std::size_t comma = rest.find(',');
    std::string_view name = rest.substr(0, comma);
    rest.remove_prefix(comma + 1);
    const bool ephemeral = name.ends_with('+');
    if (ephemeral) name.remove_suffix(1);
    each(name, ephemeral);
  }
}

}  // namespace koord::sandbox
