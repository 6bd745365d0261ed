// `koord top`: the node agent's API, or a cluster, as a live table.
#pragma once

#include <span>
#include <string>

#include "koord/runtime/role.hpp"

namespace koord::koordlet {

/// See runtime::RoleCommand.
int run_top(std::span<const std::string> arguments, runtime::Streams streams);

}  // namespace koord::koordlet
