// `koord explain node`: how what a node lends came about, from a cluster's objects, by the manager's formula.
#pragma once

#include <span>
#include <string>

#include "koord/runtime/role.hpp"

namespace koord::manager {

/// See runtime::RoleCommand.
int run_explain_node(std::span<const std::string> arguments, runtime::Streams streams);

}  // namespace koord::manager
