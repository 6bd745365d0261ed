// The agent's devices: what looks for them, and what reports them, by gates and flags.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "framework/devices/device_watch.hpp"
#include "framework/report/device_reporter.hpp"
#include "koord/host/root.hpp"
#include "koord/kube/informer.hpp"
#include "koord/runtime/role.hpp"

namespace koord::koordlet {

struct Devices {
  DeviceWatch watch;
  DeviceReporter reporter;

  Devices(DeviceWatch::Sources sources, Logger& log, runtime::RoleContext& context, kube::Client& client,
          std::string node, nanoseconds interval);
  /// Null: the gate Accelerators is off, as in the original without it no device is reported. The arguments
  /// outlive it.
  static std::unique_ptr<Devices> make(runtime::RoleContext& context, Logger& log, kube::Client& client,
                                       const host::Root& root, const std::string& node);
};

}  // namespace koord::koordlet
