// The names of devices' resources that the webhooks read and write.
#pragma once

#include <array>
#include <string_view>

namespace koord::manager {

inline constexpr std::string_view kGpu = "koordinator.sh/gpu", kGpuCore = "koordinator.sh/gpu-core",
                                  kGpuMemory = "koordinator.sh/gpu-memory",
                                  kGpuMemoryRatio = "koordinator.sh/gpu-memory-ratio",
                                  kGpuShared = "koordinator.sh/gpu.shared";
inline constexpr std::array kGpuResources = {kGpu, kGpuCore, kGpuMemory, kGpuMemoryRatio, kGpuShared};
inline constexpr std::string_view kNpuCore = "huawei.com/npu-core";

}  // namespace koord::manager
