// The scheduler's plugins: one table.
#pragma once

#include <span>

#include "koord/base/metrics.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling {

PluginTable plugin_table();
/// The rows of what plugins count, a table each.
std::span<const metrics::Table> plugin_metrics();

}  // namespace koord::scheduling
