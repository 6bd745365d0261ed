// A process that runs roles until a signal or a failure ends it.
#pragma once

#include <vector>

#include "app.hpp"

namespace koord::app {

/// Blocks; the exit code. SIGTERM and SIGINT stop the roles in order within 10 s, a second one ends at once.
int run_roles(const std::vector<const runtime::RoleDescriptor*>& roles, const runtime::CommandLine& line,
              Streams streams);

}  // namespace koord::app
