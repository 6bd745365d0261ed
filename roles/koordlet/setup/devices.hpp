// The agent's devices: what looks for them, and what reports them, by gates and flags.
#pragma once

#include <memory>
#include <optional>

#include "framework/devices/device_watch.hpp"
#include "framework/devices/gpu_driver.hpp"
#include "framework/devices/smi_watch.hpp"
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
  /// Null: no gate is on that wants to know of devices. The arguments outlive it. `driver` may be null: it is
  /// not asked.
  static std::unique_ptr<Devices> make(runtime::RoleContext& context, Logger& log, kube::Client& client,
                                       const Place& place, std::shared_ptr<GpuDriver> driver,
                                       BootFile::Place faults);
};

/// Null: no gate is on that asks NVIDIA's driver, or the flags forbid it.
std::shared_ptr<GpuDriver> make_gpu_driver(runtime::RoleContext& context, const Place& place);
/// Who asks where the driver's library cannot be loaded. The arguments outlive it.
std::unique_ptr<SmiWatch> make_smi_watch(runtime::RoleContext& context, const Logger& log, const Place& place,
                                         std::shared_ptr<GpuDriver> driver);

}  // namespace koord::koordlet
