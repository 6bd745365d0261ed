// The scheduler as a role.
#pragma once

#include "koord/runtime/role.hpp"

namespace koord::scheduler {

/// One row for the program's table of roles.
const runtime::RoleDescriptor& role();

}  // namespace koord::scheduler
