// `koord migrate check`: what koord will do of what a cluster's Koordinator does.
#pragma once

#include <span>
#include <string>

#include "koord/runtime/role.hpp"

namespace koord::app {

/// 0: nothing stands in the way; 1: something does; 2: the command line is wrong, or the cluster could not be
/// read. `arguments` without "migrate".
int run_migrate(std::span<const std::string> arguments, std::span<const runtime::RoleDescriptor* const> roles,
                runtime::Streams streams);

}  // namespace koord::app
