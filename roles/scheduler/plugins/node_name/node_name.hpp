// NodeName: a pod that names its node goes nowhere else.
#pragma once

#include "framework/args.hpp"

namespace koord::scheduler::node_name {

Result<std::unique_ptr<Plugin>> make(const Args& args, const PluginContext& context);

}  // namespace koord::scheduler::node_name
