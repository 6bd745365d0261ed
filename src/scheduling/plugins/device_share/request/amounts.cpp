// Amounts: see amounts.hpp.
#include "scheduling/plugins/device_share/request/amounts.hpp"

#include "koord/api/koordinator/devices.hpp"

namespace koord::scheduling::device_share {

namespace {
constexpr std::array<std::string_view, kUnits> kGpuUnits{api::kGpuCore, api::kGpuMemory, api::kGpuMemoryRatio,
                                                         api::kNpuCore, api::kNpuCpu,    api::kNpuDvpp};
constexpr std::array<std::string_view, kDeviceTypes> kTypeNames{"gpu", "rdma", "fpga"};
}  // namespace

std::string_view to_string(DeviceType type) { return kTypeNames[index(type)]; }

std::optional<DeviceType> parse_device_type(std::string_view name) {
  for (const DeviceType type : kAllDeviceTypes)
    if (to_string(type) == name) return type;
  return {};
}

std::string_view resource_name(DeviceType type, Unit unit) {
  if (type == DeviceType::gpu) return kGpuUnits[static_cast<std::size_t>(unit)];
  return type == DeviceType::rdma ? api::kRdma : api::kFpga;
}

std::optional<Unit> parse_unit(DeviceType type, std::string_view resource) {
  const std::size_t units = type == DeviceType::gpu ? kUnits : 1;
  for (std::size_t i = 0; i < units; ++i)
    if (resource_name(type, static_cast<Unit>(i)) == resource) return static_cast<Unit>(i);
  return {};
}

Amounts read_amounts(DeviceType type, const api::ResourceList& list) {
  Amounts amounts;
  for (const auto& [name, amount] : list)
    if (const auto unit = parse_unit(type, name.view())) amounts.set(*unit, amount.value());
  return amounts;
}

api::ResourceList write_amounts(DeviceType type, const Amounts& amounts) {
  api::ResourceList list;
  for (std::size_t i = 0; i < kUnits; ++i) {
    const auto unit = static_cast<Unit>(i);
    if (!amounts.has(unit)) continue;
    const bool bytes = type == DeviceType::gpu && unit == Unit::memory;
    list[resource_name(type, unit)] = api::Quantity::from_int(
        amounts[unit], bytes ? api::Quantity::Format::binary_si : api::Quantity::Format::decimal_si);
  }
  return list;
}

}  // namespace koord::scheduling::device_share
