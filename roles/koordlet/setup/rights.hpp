// The node agent's rights in a cluster with RBAC: packaging/manifests has them, a test runs the role with no
// more.
#pragma once

#include <span>

#include "koord/runtime/rights.hpp"

namespace koord::koordlet {

std::span<const runtime::Right> rights();

}  // namespace koord::koordlet
