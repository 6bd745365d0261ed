// The scheduler's plugins: one table.
#pragma once

#include "framework/args.hpp"

namespace koord::scheduler {

PluginTable plugin_table();

}  // namespace koord::scheduler
