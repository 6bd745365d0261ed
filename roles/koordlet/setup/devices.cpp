// The agent's devices: see devices.hpp.
#include "setup/devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "framework/devices/cdi_files.hpp"
#include "framework/devices/gpu_isolation.hpp"
#include "framework/devices/nvidia_cards.hpp"
#include "framework/devices/rdma_cards.hpp"
#include "framework/devices/xpu_files.hpp"
#include "koord/base/feature_gate.hpp"

namespace koord::koordlet {

namespace {

constexpr nanoseconds kShortest = std::chrono::milliseconds(100), kUsual = std::chrono::seconds(3);
constexpr nanoseconds kSmiLimit = std::chrono::seconds(10);

/// As the driver's helper and nvidia-smi see the host.
std::string host_root(const Place& place) {
  return place.in_pod ? fmt::format("{}1/root", place.root.proc) : std::string();
}

bool wants_devices(const FeatureGates& gates) {
  return gates.enabled("Accelerators") || gates.enabled("GPUEnvInject") || gates.enabled("RDMADeviceInject");
}

}  // namespace

std::shared_ptr<GpuDriver> make_gpu_driver(runtime::RoleContext& context, const Place& place) {
  if (!wants_devices(context.gates) || context.flags.get_bool("xpu-enforce-collect-from-device-infos"))
    return nullptr;
  GpuDriver::Options options;
  options.helper.root = host_root(place);
  return std::make_shared<GpuDriver>(context.clock, place.root, std::move(options), context.metrics);
}

std::unique_ptr<SmiWatch> make_smi_watch(runtime::RoleContext& context, const Logger& log, const Place& place,
                                         std::shared_ptr<GpuDriver> driver) {
  const std::string root = host_root(place);
  return std::make_unique<SmiWatch>(std::move(driver),
                                    std::make_unique<host::HostPrograms>(context.clock, root, kSmiLimit),
                                    root, context.clock, log);
}

std::unique_ptr<Devices> Devices::make(runtime::RoleContext& context, Logger& log, kube::Client& client,
                                       const Place& place, std::shared_ptr<GpuDriver> driver,
                                       BootFile::Place faults) {
  const FeatureGates& gates = context.gates;
  if (!wants_devices(gates)) return nullptr;
  const bool report = gates.enabled("Accelerators");
  DeviceWatch::Sources sources;
  // Shared, for a std::function copies what it holds; one that is cancelled is waited for (offload).
  const auto files =
      std::make_shared<XpuFiles>(context.flags.get("xpu-device-infos-dir"), context.clock.mono());
  sources.files = [files, &clock = context.clock] { return files->read(clock.mono()); };
  if (driver != nullptr) {
    const auto cards = std::make_shared<NvidiaCards>(std::move(driver), place.root, std::move(faults));
    sources.gpus = [cards] { return cards->read(); };
  }
  if (gates.enabled("RDMADevices") || gates.enabled("RDMADeviceInject"))
    sources.rdma = [root = place.root, reported = gates.enabled("RDMADevices")] {
      DeviceReading reading = read_rdma_cards(root);
      if (!reported) reading.devices.clear();  // the hook goes by what else it says
      return reading;
    };
  if (gates.enabled("GPUEnvInject"))
    sources.isolation = [root = place.root, library = context.flags.get("hami-core-library-directory-path")] {
      return look_for_isolation(root, library);
    };
  if (gates.enabled("CDIDeviceInject")) {
    const auto names = std::make_shared<CdiFiles>(host_root(place), context.flags.get_list("cdi-spec-dirs"));
    sources.cdi = [names](std::vector<std::string>& problems) { return names->read(problems); };
  }
  const nanoseconds asked = context.flags.get_duration("node-topology-sync-interval");
  const nanoseconds interval = asked.count() > 0 ? std::max(asked, kShortest) : kUsual;
  auto made = std::make_unique<Devices>(std::move(sources), interval, log, context.metrics);
  if (report)
    made->reporter.emplace(DeviceReporter::Parts{context.clock, log, client, context.informers, made->watch},
                           place.node_name, interval);
  return made;
}

}  // namespace koord::koordlet
