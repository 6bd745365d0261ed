// What koord says about itself: --help and `koord docs`.
#pragma once

#include <span>
#include <string>

#include "koord/runtime/role.hpp"

namespace koord::app {

using Roles = std::span<const runtime::RoleDescriptor* const>;

std::string overview(Roles roles);
/// --role=a,b --help
std::string roles_help(Roles chosen);
/// The reference as markdown: flags, gates, and each role's own part.
std::string reference(Roles roles);

}  // namespace koord::app
