// What the plugins of devices share: how many work, and what they give as resources of the node.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"

namespace koord::manager {

/// What a device is in percent: as much of it can be given away.
inline constexpr std::int64_t kWholeDevice = 100;

/// `device` may be null.
std::int64_t healthy_devices(const api::Device* device, std::string_view type);

/// Writes `amounts` into capacity and allocatable. None at all: each of `names` goes. Otherwise one that the
/// devices do not have stays as it is.
void set_devices(api::Node& node, std::span<const std::string_view> names, const api::ResourceList& amounts);

}  // namespace koord::manager
