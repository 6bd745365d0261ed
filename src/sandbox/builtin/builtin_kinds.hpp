// The kinds that a new cluster serves: Kubernetes' own, with their rules and columns.
#pragma once

#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

/// Adds every built-in kind.
void add_builtin_kinds(Registry& registry);

}  // namespace koord::sandbox
