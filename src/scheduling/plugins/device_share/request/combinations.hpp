// Which resources of devices a pod may ask for together, and what they come to.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "koord/base/result.hpp"
#include "scheduling/plugins/device_share/request/amounts.hpp"

namespace koord::scheduling::device_share {

/// What a pod asks for of one type, by Koordinator's table.
struct Combined {
  Amounts asked;
  std::int64_t shared = 0;  // GPUs that are shared (gpu.shared); 0: it does not say
};

/// Whether the resource is one of this type's.
bool is_of(DeviceType type, std::string_view resource);

/// Of amounts of this type's resources, none of them 0. A vendor's GPU is 100 of core and of memory ratio,
/// koordinator.sh/gpu as much of both. Whole devices are asked for in hundreds, shares of several GPUs in
/// equal parts. Errors are what the pod is rejected with.
Result<Combined> combine(DeviceType type,
                         std::span<const std::pair<std::string_view, std::int64_t>> requests);

}  // namespace koord::scheduling::device_share
