// PrioritySort: the pod of higher priority first, then the one that waits longer.
#pragma once

#include "framework/args.hpp"

namespace koord::scheduler::priority_sort {

Result<std::unique_ptr<Plugin>> make(const Args& args, const PluginContext& context);

}  // namespace koord::scheduler::priority_sort
