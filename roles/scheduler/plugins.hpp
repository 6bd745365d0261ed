// The scheduler's plugins: one table.
#pragma once

#include <span>

#include "framework/args.hpp"

namespace koord::scheduler {

std::span<const PluginEntry> plugin_table();

}  // namespace koord::scheduler
