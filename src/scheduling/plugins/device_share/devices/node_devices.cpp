// NodeDevices: see node_devices.hpp.
#include "scheduling/plugins/device_share/devices/node_devices.hpp"

#include "koord/api/types/scheduling_v1alpha1/device.hpp"

namespace koord::scheduling::device_share {

std::array<Places, kDeviceTypes> healthy_places(const DeviceShape& shape, const api::Device* device) {
  std::array<Places, kDeviceTypes> healthy{};
  if (device == nullptr) return healthy;
  for (const api::DeviceInfo& info : device->spec.devices) {
    const auto type = parse_device_type(info.type.view());
    const std::size_t place = type ? shape.place(*type, info.minor.value_or(0)) : kMostPlaces;
    if (place == kMostPlaces) continue;
    // Of one minor the last entry counts.
    const Places bit = Places{1} << place;
    Places& of = healthy[index(*type)];
    of = info.health && !shape.of(*type).devices[place].total.zero() ? of | bit : of & ~bit;
  }
  return healthy;
}

}  // namespace koord::scheduling::device_share
