// Machines and pods: see packed_devices.hpp.
#include "scheduling/plugins/device_share/packing/packed_devices.hpp"

#include <algorithm>
#include <bit>

namespace koord::scheduling::device_share {

PackedRow packed_row(const NodeDevices& node, std::int64_t cpu, std::int64_t memory,
                     std::span<const Given::Device> given_back) {
  PackedRow row{.cpu = cpu, .memory = memory};
  for (Places left = node.healthy[index(DeviceType::gpu)]; left != 0; left &= left - 1) {
    if (row.gpus == static_cast<std::int32_t>(PackedRow::kMostGpus)) break;
    const auto place = static_cast<std::size_t>(std::countr_zero(left));
    Amounts used = node.used_of(DeviceType::gpu, place);
    for (const Given::Device& back : given_back)
      if (back.type == DeviceType::gpu && node.shape->place(back.type, back.minor) == place)
        used.subtract(back.amounts);
    Amounts free = node.total_of(DeviceType::gpu, place);
    free.subtract(used);
    std::int64_t percent = 100;
    for (const Unit unit : {Unit::core, Unit::memory_ratio})
      if (free.has(unit)) percent = std::min(percent, free[unit]);
    row.free[static_cast<std::size_t>(row.gpus++)] = static_cast<std::int32_t>(10 * percent);
  }
  return row;
}

PackedRequest packed_request(const DeviceDemand& demand, std::int64_t cpu, std::int64_t memory,
                             std::int64_t gpu_memory) {
  PackedRequest request{.cpu = cpu, .memory = memory};
  const TypeDemand& gpus = demand.of(DeviceType::gpu);
  if (!gpus.wanted) return request;
  const Amounts& each = gpus.per_device;
  std::int64_t per_mille = 10 * std::max(each[Unit::core], each[Unit::memory_ratio]);
  if (each.has(Unit::memory))
    per_mille = gpu_memory <= 0 ? 1000 : std::max(per_mille, each[Unit::memory] * 1000 / gpu_memory);
  request.gpus = gpus.count;
  request.share = static_cast<std::int32_t>(std::clamp<std::int64_t>(per_mille, 1, 1000));
  return request;
}

}  // namespace koord::scheduling::device_share
