// DefaultBinder: binds by POST to the pod's binding subresource, which the role's binder does.
#pragma once

#include "framework/args.hpp"

namespace koord::scheduler::default_binder {

Result<std::unique_ptr<Plugin>> make(const Args& args, const PluginContext& context);

}  // namespace koord::scheduler::default_binder
