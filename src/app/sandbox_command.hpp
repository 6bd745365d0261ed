// `koord sandbox`: the cluster in memory, and roles that work on it in the same process.
#pragma once

#include "app.hpp"

namespace koord::app {

int run_sandbox(std::span<const std::string> arguments, std::span<const runtime::RoleDescriptor* const> roles,
                Streams streams);

/// Names, or an error that suggests the nearest.
Result<std::vector<const runtime::RoleDescriptor*>> choose_roles(
    const std::vector<std::string>& names, std::span<const runtime::RoleDescriptor* const> roles);

}  // namespace koord::app
