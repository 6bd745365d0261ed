// NodeDevices: the devices of one machine, and what of them is taken.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "scheduling/plugins/device_share/devices/device_shape.hpp"

namespace koord::api {
struct Device;
}

namespace koord::scheduling::device_share {

/// A few words beside its shape. Devices of all types lie one after another, by OfType::first.
struct NodeDevices {
  std::shared_ptr<const DeviceShape> shape;        // never null once bound
  std::array<Places, kDeviceTypes> healthy{};      // the others have nothing
  std::array<Places, kDeviceTypes> taken{};        // somebody has some of them, if only a little
  std::array<std::uint32_t, kDeviceTypes> gone{};  // devices that somebody has and that are no more
  std::vector<Amounts> used;                       // by all who have some
  std::vector<std::uint64_t> functions;            // taken virtual ones

  const Amounts& used_of(DeviceType type, std::size_t place) const {
    return used[shape->of(type).first + place];
  }
  /// Nothing of a device that is not healthy.
  Amounts total_of(DeviceType type, std::size_t place) const {
    return (healthy[index(type)] >> place & 1U) != 0 ? shape->of(type).devices[place].total : Amounts();
  }
  Amounts free_of(DeviceType type, std::size_t place) const {
    Amounts free = total_of(type, place);
    free.subtract(used_of(type, place));
    return free;
  }
  /// Devices that are listed, or that somebody has.
  int count(DeviceType type) const {
    return static_cast<int>(shape->of(type).devices.size() + gone[index(type)]);
  }
};

/// Which devices are healthy, as the Device says; nullptr: none is.
std::array<Places, kDeviceTypes> healthy_places(const DeviceShape& shape, const api::Device* device);

}  // namespace koord::scheduling::device_share
