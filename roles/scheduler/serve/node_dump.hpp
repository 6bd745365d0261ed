// What the engine knows of a node, as JSON.
#pragma once

#include <string_view>

#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/plugin/service_plugin.hpp"

namespace koord::scheduler {

/// The original's /apis/v1/nodes/NAME: 404 for a node that is not known.
scheduling::ServiceAnswer dump_node(const scheduling::Engine& engine, std::string_view name);

}  // namespace koord::scheduler
