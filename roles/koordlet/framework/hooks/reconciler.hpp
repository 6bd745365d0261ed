// The reconciler: the transport that keeps hooks' values in the kernel's files, as a strategy of its own for
// each hook.
#pragma once

#include <memory>

#include "framework/hooks/hook.hpp"
#include "framework/qos/plugin.hpp"

namespace koord::koordlet {

/// The hook outlives it. Its row says Replan::on_change, and kHookHold: what a pod asked for it still asks
/// for, however long nobody has told.
inline constexpr nanoseconds kHookHold = nanoseconds::max();
std::unique_ptr<Strategy> make_reconciler(const Hook& hook, const PluginContext& context);

/// Of all of them.
extern const metrics::Table kReconcilerMetrics;

/// A row's `make` for a hook.
template <const Hook& kHook>
Result<std::unique_ptr<Strategy>> reconcile(const PluginContext& context) {
  return make_reconciler(kHook, context);
}

}  // namespace koord::koordlet
