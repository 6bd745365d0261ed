// The proxy between the kubelet and its container runtime, as a role.
#pragma once

#include "koord/runtime/role.hpp"

namespace koord::proxy {

/// One row for the program's table of roles.
const runtime::RoleDescriptor& role();

}  // namespace koord::proxy
