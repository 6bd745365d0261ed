// The device daemon as a role: it looks for accelerators and says in a file for the node agent which there
// are.
#pragma once

#include "koord/runtime/role.hpp"

namespace koord::device_daemon {

/// One row for the program's table of roles.
const runtime::RoleDescriptor& role();

}  // namespace koord::device_daemon
