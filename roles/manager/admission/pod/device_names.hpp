// The names of devices' resources that the webhooks read and write.
#pragma once

#include <array>

#include "koord/api/koordinator/devices.hpp"

namespace koord::manager {

using api::kGpu;
using api::kGpuCore;
using api::kGpuMemory;
using api::kGpuMemoryRatio;
using api::kGpuShared;
using api::kNpuCore;
inline constexpr std::array kGpuResources = {kGpu, kGpuCore, kGpuMemory, kGpuMemoryRatio, kGpuShared};

}  // namespace koord::manager
