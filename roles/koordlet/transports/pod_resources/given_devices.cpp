// What pods were given by the scheduler: see given_devices.hpp.
#include "transports/pod_resources/given_devices.hpp"

#include <algorithm>
#include <utility>

#include "koord/api/koordinator/devices.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::koordlet {

namespace {

struct Kind {
  std::string_view type, resource;
};
constexpr Kind kKinds[] = {{"gpu", api::kNvidiaGpu}, {"rdma", api::kRdma}};

}  // namespace

std::vector<rpc::pod_resources::Devices> given_devices(const PodInfo& pod) {
  std::vector<rpc::pod_resources::Devices> all;
  if (!pod.object) return all;
  const auto given = api::read_annotation<api::DeviceAllocations>(pod.object->metadata.annotations);
  if (!given || !*given) return all;
  for (const Kind& kind : kKinds) {
    rpc::pod_resources::Devices devices{.resource = std::string(kind.resource), .ids = {}};
    for (const auto& [type, list] : (*given)->devices) {
      if (type != kind.type) continue;
      for (const api::AllocatedDevice& device : list) {
        if (device.extension && !device.extension->vfs.empty()) {
          for (const api::AllocatedFunction& function : device.extension->vfs)
            devices.ids.push_back(function.bus_id);
        } else if (!device.id.empty()) {
          devices.ids.push_back(device.id);
        }
      }
    }
    std::ranges::sort(devices.ids);
    if (!devices.ids.empty()) all.push_back(std::move(devices));
  }
  return all;
}

std::vector<rpc::pod_resources::Devices> given_devices(const Inventory& inventory, std::string_view ns,
                                                       std::string_view name) {
  const auto found = std::ranges::find_if(
      inventory.all_pods, [&](const auto& pod) { return pod->name == name && pod->ns == ns; });
  if (found == inventory.all_pods.end()) return {};
  return given_devices(**found);
}

}  // namespace koord::koordlet
