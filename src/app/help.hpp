// What koord says about itself: --help and `koord docs`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "koord/runtime/role.hpp"

namespace koord::app {

using Roles = std::span<const runtime::RoleDescriptor* const>;

/// A command of the program's own, none of a role's.
struct CommandLineHelp {
  std::string_view name;
  std::string_view arguments;
  std::string_view summary;
};

std::string overview(Roles roles, std::span<const CommandLineHelp> commands);
/// --role=a,b --help
std::string roles_help(Roles chosen);
/// The reference as markdown: flags, gates, and each role's own part.
std::string reference(Roles roles);

}  // namespace koord::app
