// `koord top`: the node agent's API as a live table.
#pragma once

#include "app.hpp"

namespace koord::app {

int run_top(std::span<const std::string> arguments, std::span<const runtime::RoleDescriptor* const> roles,
            Streams streams);

}  // namespace koord::app
