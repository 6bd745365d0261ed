// DeviceRig: a desk that knows the node's devices, and pods that the scheduler gave some.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/devices/device_terms.hpp"
#include "framework/devices/node_devices.hpp"
#include "rigs/desk_rig.hpp"

namespace koord::koordlet::testing {

class DeviceRig : public DeskRig {
 public:
  DeviceRig() {
    if (!gates.set("GPUEnvInject=true,RDMADeviceInject=true")) throw std::runtime_error("no such gate");
    only({"GPUEnvInject", "RDMADeviceInject"});
    inventory.pods_known = inventory.slo_known = true;
    node.isolation.library = "/usr/local/vgpu/libvgpu.so";
    open();
  }
  void open() {
    auto made =
        Desk::make({.strategies = strategies,
                    .gates = gates,
                    .hub = hub,
                    .cgroup_version = kernel.version(),
                    .topology = [this] { return topology; },
                    .has = [](host::Knob, std::string_view) { return false; },
                    .setting = [](host::Knob, std::string_view) { return std::optional<std::int64_t>(); },
                    .is_set = [](std::string_view) { return false; },
                    .devices = [this] { return known ? std::make_shared<const NodeDevices>(node) : nullptr; },
                    .tell = [this](const RuntimeSandbox&, const std::string& why) { told.push_back(why); },
                    .prepare = [this](const RuntimeMount&) { return prepared; },
                    .clock = clock,
                    .log = Logger(log, clock, 1),
                    .metrics = desk_metrics},
                   {});
    if (!made) throw std::runtime_error(made.error().message());
    desk = std::move(*made);
    publish();
  }
  Verdict create(std::string_view allocated, bool hami = false, const std::string& handler = "") {
    RuntimeRequest request = birth("u1", "/kubepods/burstable/podu1");
    request.sandbox.runtime_handler = handler;
    request.takes_cdi = takes_cdi;
    request.sandbox.annotations = {{"scheduling.koordinator.sh/device-allocated", std::string(allocated)}};
    if (hami) request.sandbox.labels = {{"koordinator.sh/gpu-isolation-provider", "HAMi-core"}};
    return ask(request);
  }
  /// Another pod of the node that has it, and runs.
  void other(const std::string& name, DeviceTerms terms) {
    pod(name, Qos::ls, {{"c"}}).terms.put(std::make_shared<const DeviceTerms>(std::move(terms)));
    publish();
  }
  void gpus(std::initializer_list<int> minors) {
    for (const int minor : minors) {
      api::DeviceInfo device;
      device.type = Symbol("gpu");
      device.minor = minor;
      node.devices.push_back(device);
    }
  }

  NodeDevices node;
  bool takes_cdi = false;
  bool known = true;
  std::vector<std::string> told;
  Result<> prepared = {};  // of mounts
};

}  // namespace koord::koordlet::testing
