// The agent's devices: see devices.hpp.
#include "setup/devices.hpp"

#include <algorithm>
#include <utility>

#include "framework/devices/rdma_cards.hpp"
#include "framework/devices/xpu_files.hpp"
#include "koord/base/feature_gate.hpp"

namespace koord::koordlet {

namespace {

constexpr nanoseconds kShortest = std::chrono::milliseconds(100), kUsual = std::chrono::seconds(3);

}  // namespace

Devices::Devices(DeviceWatch::Sources sources, Logger& log, runtime::RoleContext& context,
                 kube::Client& client, std::string node, nanoseconds interval)
    : watch(std::move(sources), log, context.metrics),
      reporter({context.clock, log, context.workers, client, context.informers, watch}, std::move(node),
               interval) {}

std::unique_ptr<Devices> Devices::make(runtime::RoleContext& context, Logger& log, kube::Client& client,
                                       const host::Root& root, const std::string& node) {
  if (!context.gates.enabled("Accelerators")) return nullptr;
  DeviceWatch::Sources sources;
  // Shared: a look that is cancelled with the agent may go on for a moment on its worker.
  const auto files =
      std::make_shared<XpuFiles>(context.flags.get("xpu-device-infos-dir"), context.clock.mono());
  sources.files = [files, &clock = context.clock] { return files->read(clock.mono()); };
  if (context.gates.enabled("RDMADevices")) sources.rdma = [root] { return read_rdma_cards(root); };
  const nanoseconds asked = context.flags.get_duration("node-topology-sync-interval");
  const nanoseconds interval = asked.count() > 0 ? std::max(asked, kShortest) : kUsual;
  return std::make_unique<Devices>(std::move(sources), log, context, client, node, interval);
}

}  // namespace koord::koordlet
