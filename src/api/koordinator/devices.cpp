#include "koord/api/koordinator/devices.hpp"

#include <fmt/format.h>

#include <charconv>

#include "koord/api/schema/table.hpp"
#include "koord/json/yaml.hpp"
#include "rooted.hpp"

namespace koord::api {
namespace {

/// What names a place in a list or set of bits is no negative number, and no machine has as many.
constexpr int32_t kMostMinor = 65535;

Result<> check_minor(int32_t minor, std::string_view path) {
  if (minor >= 0 && minor <= kMostMinor) return {};
  return Error(Code::parse, fmt::format("{}: {} is not from 0 to {}", path, minor, kMostMinor));
}

}  // namespace

KOORD_SCHEMA(AllocatedFunction, ROW(minor), ROW(bus_id).wire("busID"));
KOORD_SCHEMA(AllocatedDeviceExtension, ROW(vfs), ROW(gpu_shared_resource_template));
KOORD_SCHEMA(AllocatedDevice, ROW(minor).always(), ROW(resources).always(), ROW(id), ROW(extension));
KOORD_SCHEMA(DeviceHint, ROW(selector), ROW(vf_selector), ROW(allocate_strategy),
             ROW(required_topology_scope), ROW(exclusive_policy));
KOORD_SCHEMA(DeviceJointAllocate, ROW(device_types), ROW(required_scope));
KOORD_SCHEMA(GpuPartitionSpec, ROW(allocate_policy), ROW(ring_bus_bandwidth));
KOORD_SCHEMA(GpuPartition, ROW(minors).always(), ROW(gpu_link_type), ROW(ring_bus_bandwidth),
             ROW(allocation_score));

Result<> decode_annotation(std::string_view text, DeviceAllocations& to) {
  KOORD_CHECK(decode_rooted(text, to.devices));
  // A node agent of a machine without minors writes -1 of virtual functions, and those are known by bus.
  for (const auto& [type, devices] : to.devices)
    for (std::size_t i = 0; i < devices.size(); ++i)
      KOORD_CHECK(check_minor(devices[i].minor, fmt::format("[{}][{}].minor", type.view(), i)));
  return {};
}
std::string encode_annotation(const DeviceAllocations& value) { return encode_rooted(value.devices); }

Result<> decode_annotation(std::string_view text, DeviceHints& to) { return decode_rooted(text, to.hints); }
std::string encode_annotation(const DeviceHints& value) { return encode_rooted(value.hints); }

Result<> decode_annotation(std::string_view text, GpuPartitionSpec& to) {
  KOORD_CHECK(decode(text, schema<GpuPartitionSpec>(), &to));
  if (to.allocate_policy.empty()) to.allocate_policy = "BestEffort";
  return {};
}

Result<> decode_annotation(std::string_view text, GpuPartitions& to) {
  KOORD_CHECK(decode_rooted(text, to.by_size));
  for (const auto& [size, partitions] : to.by_size) {
    int32_t number = 0;
    const char* const end = size.view().data() + size.size();
    const auto [stop, error] = std::from_chars(size.view().data(), end, number);
    if (error != std::errc() || stop != end)
      return Error(Code::parse, fmt::format("[{}]: expected a number of GPUs", size.view()));
    for (std::size_t i = 0; i < partitions.size(); ++i)
      for (const int32_t minor : partitions[i].minors)
        KOORD_CHECK(check_minor(minor, fmt::format("[{}][{}].minors", size.view(), i)));
  }
  return {};
}
std::string encode_annotation(const GpuPartitions& value) { return encode_rooted(value.by_size); }

Result<GpuShareTemplates> parse_gpu_share_templates(std::string_view yaml) {
  GpuShareTemplates templates;
  KOORD_TRY(text, json::yaml_to_json(yaml));
  if (text != "null") KOORD_CHECK(decode_rooted(text, templates.by_model));
  return templates;
}

std::string gpu_model_key(std::string_view vendor, std::string_view model) {
  return fmt::format("{}-{}", vendor, model);
}

bool honors_gpu_partitions(const SymbolMap& labels) {
  return value_or(labels, kGpuPartitionPolicyLabel) == "Honor";
}

}  // namespace koord::api
