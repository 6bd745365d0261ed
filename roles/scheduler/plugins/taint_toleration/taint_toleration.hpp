// TaintToleration: keeps pods off nodes with NoSchedule and NoExecute taints that they do not tolerate, and
// prefers nodes with few PreferNoSchedule taints of that kind.
#pragma once

#include "framework/args.hpp"

namespace koord::scheduler::taint_toleration {

Result<std::unique_ptr<Plugin>> make(const Args& args, const PluginContext& context);

}  // namespace koord::scheduler::taint_toleration
