// The agent's devices: what looks for them, and what reports them, by gates and flags.
#pragma once

#include <memory>
#include <optional>

#include "framework/devices/device_watch.hpp"
#include "framework/keep/boot_file.hpp"
#include "framework/report/device_reporter.hpp"
#include "koord/kube/informer.hpp"
#include "koord/runtime/role.hpp"
#include "setup/flags.hpp"

namespace koord::koordlet {

struct Devices {
  nanoseconds interval;  // between two looks
  DeviceWatch watch;
  std::optional<DeviceReporter> reporter;  // with the gate Accelerators, as in the original

  Devices(DeviceWatch::Sources sources, nanoseconds every, Logger& log, metrics::Registry& metrics)
      : interval(every), watch(std::move(sources), log, metrics) {}
  /// Null: no gate is on that wants to know of devices. The arguments outlive it.
  static std::unique_ptr<Devices> make(runtime::RoleContext& context, Logger& log, kube::Client& client,
                                       const Place& place, BootFile::Place faults);
};

}  // namespace koord::koordlet
