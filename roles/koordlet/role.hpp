// The node agent as a role.
#pragma once

#include "koord/runtime/role.hpp"

namespace koord::koordlet {

/// One row for the program's table of roles.
const runtime::RoleDescriptor& role();

}  // namespace koord::koordlet
