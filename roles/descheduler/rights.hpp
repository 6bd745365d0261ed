// The descheduler's rights in a cluster with RBAC: packaging/manifests has them, a test runs the role with no
// more.
#pragma once

#include <span>

#include "koord/runtime/rights.hpp"

namespace koord::descheduler {

std::span<const runtime::Right> rights();

}  // namespace koord::descheduler
