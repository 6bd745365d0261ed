// NodePorts: no two pods on a node take the same host port of the same protocol on overlapping addresses.
#pragma once

#include "framework/args.hpp"

namespace koord::scheduler::node_ports {

Result<std::unique_ptr<Plugin>> make(const Args& args, const PluginContext& context);

}  // namespace koord::scheduler::node_ports
