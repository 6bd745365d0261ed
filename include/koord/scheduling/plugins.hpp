// The scheduler's plugins: one table.
#pragma once

#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling {

PluginTable plugin_table();

}  // namespace koord::scheduling
