// The manager: turns what the agents measured into what nodes offer, and tells every node its strategies.
#pragma once

#include "koord/runtime/role.hpp"

namespace koord::manager {

const runtime::RoleDescriptor& role();

}  // namespace koord::manager
