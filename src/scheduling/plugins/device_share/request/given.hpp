// Given: what one pod has of a machine's devices.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "koord/api/koordinator/devices.hpp"
#include "koord/base/result.hpp"
#include "scheduling/plugins/device_share/request/amounts.hpp"

namespace koord::api {
struct Device;
struct Pod;
}  // namespace koord::api

namespace koord::scheduling::device_share {

/// Kept with the pod (PodInfo::kept) from Reserve on, or from when its annotation is seen. It says minors, so
/// that it follows from no Device. Immutable.
struct Given {
  struct Device {
    DeviceType type = DeviceType::gpu;
    std::int32_t minor = 0;
    Amounts amounts;
    std::vector<api::AllocatedFunction> vfs = {};
    std::string share_template = {};
    friend bool operator==(const Device&, const Device&) = default;
  };
  std::vector<Device> devices;  // by type; of one type in the order in which they were chosen
  /// It has devices of these types, and nobody can tell which: any of the machine's may be its.
  std::array<bool, kDeviceTypes> unclear{};

  bool empty() const { return devices.empty() && !is_unclear(); }
  bool is_unclear() const { return std::ranges::find(unclear, true) != unclear.end(); }
  bool has(DeviceType type) const;
  friend bool operator==(const Given&, const Given&) = default;
};

/// Types that nobody knows are not looked at. An error names what is more than a machine has.
Result<Given> read_given(const api::DeviceAllocations& said);
/// What the pod's annotation says that it was given; nullptr: nothing. Errors start with its name.
Result<std::shared_ptr<const Given>> given_by_annotations(const api::Pod& pod);
/// What goes into the annotation, with the devices' ids where `device` is known (nullptr: it is not).
api::DeviceAllocations write_given(const Given& given, const api::Device* device);

}  // namespace koord::scheduling::device_share
