// SchedulingGates: pods with spec.schedulingGates stay out of the queue until all gates are gone.
#pragma once

#include "framework/args.hpp"

namespace koord::scheduler::scheduling_gates {

Result<std::unique_ptr<Plugin>> make(const Args& args, const PluginContext& context);

}  // namespace koord::scheduler::scheduling_gates
