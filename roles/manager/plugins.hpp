// The plugins of the controller noderesource: one table.
#pragma once

#include "framework/noderesource/plugin.hpp"

namespace koord::manager {

ResourcePluginTable resource_plugin_table();

}  // namespace koord::manager
