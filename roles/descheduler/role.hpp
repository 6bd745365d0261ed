// The descheduler as a role.
#pragma once

#include <span>

#include "koord/runtime/role.hpp"

namespace koord::descheduler {

struct PluginEntry;

/// One row for the program's table of roles.
const runtime::RoleDescriptor& role();

/// The descriptor's `make`, which gives plugin_table(); tests give others.
Result<std::unique_ptr<runtime::Role>> make_role(runtime::RoleContext& context,
                                                 std::span<const PluginEntry* const> plugins);

}  // namespace koord::descheduler
