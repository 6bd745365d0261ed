// Resources of devices: see devices.hpp.
#include "framework/noderesource/devices.hpp"

#include <algorithm>

namespace koord::manager {

using api::Quantity;

std::int64_t healthy_devices(const api::Device* device, std::string_view type) {
  if (device == nullptr) return 0;
  return std::ranges::count_if(device->spec.devices, [type](const api::DeviceInfo& info) {
    return info.type.view() == type && info.health;
  });
}

void set_devices(api::Node& node, std::span<const std::string_view> names, const api::ResourceList& amounts) {
  for (const std::string_view name : names) {
    const Quantity* const amount = amounts.find(name);
    if (amount == nullptr && !amounts.empty()) continue;
    for (api::ResourceList* list : {&node.status.capacity, &node.status.allocatable}) {
      if (amount == nullptr) {
        list->erase(name);
        continue;
      }
      Quantity whole = *amount;
      whole.round_up(0);  // an API server takes nothing else
      (*list)[name] = whole;
    }
  }
}

}  // namespace koord::manager
