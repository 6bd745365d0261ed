// NodeUnschedulable: keeps pods off cordoned nodes, unless they tolerate that taint.
#pragma once

#include "framework/args.hpp"

namespace koord::scheduler::node_unschedulable {

Result<std::unique_ptr<Plugin>> make(const Args& args, const PluginContext& context);

}  // namespace koord::scheduler::node_unschedulable
