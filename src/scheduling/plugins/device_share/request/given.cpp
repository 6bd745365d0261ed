// Given: see given.hpp.
#include "scheduling/plugins/device_share/request/given.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"

namespace koord::scheduling::device_share {

namespace {
/// Of one type, and of virtual functions of one device: more than any machine has.
constexpr std::size_t kMostDevices = 128, kMostFunctions = 128;
}  // namespace

bool Given::has(DeviceType type) const {
  return std::ranges::any_of(devices, [&](const Device& device) { return device.type == type; });
}

Result<Given> read_given(const api::DeviceAllocations& said) {
  Given given;
  for (const DeviceType type : kAllDeviceTypes) {
    const auto* const devices = said.devices.find(to_string(type));
    if (devices == nullptr) continue;
    if (devices->size() > kMostDevices)
      return Error(Code::invalid, fmt::format("{}: more than {} devices", to_string(type), kMostDevices));
    for (const api::AllocatedDevice& device : *devices) {
      Given::Device& made = given.devices.emplace_back();
      made.type = type;
      made.minor = device.minor;
      made.amounts = read_amounts(type, device.resources);
      if (!device.extension) continue;
      if (device.extension->vfs.size() > kMostFunctions)
        return Error(Code::invalid, fmt::format("{}: minor {}: more than {} virtual functions",
                                                to_string(type), device.minor, kMostFunctions));
      made.vfs = device.extension->vfs;
      made.share_template = device.extension->gpu_shared_resource_template;
    }
  }
  return given;
}

Result<std::shared_ptr<const Given>> given_by_annotations(const api::Pod& pod) {
  using Read = std::shared_ptr<const Given>;
  const api::SymbolMap& annotations = pod.metadata.annotations;
  if (!annotations.contains(api::DeviceAllocations::kAnnotation)) return Read();
  KOORD_TRY(said, api::read_annotation<api::DeviceAllocations>(annotations));
  if (!said) return Read();
  auto given = read_given(*said);
  if (!given) return std::move(given).error().context(api::DeviceAllocations::kAnnotation);
  if (given->empty()) return Read();
  return Read(std::make_shared<const Given>(std::move(*given)));
}

api::DeviceAllocations write_given(const Given& given, const api::Device* device) {
  api::DeviceAllocations written;
  for (const Given::Device& each : given.devices) {
    api::AllocatedDevice& to = written.devices[to_string(each.type)].emplace_back();
    to.minor = each.minor;
    to.resources = write_amounts(each.type, each.amounts);
    if (!each.vfs.empty() || !each.share_template.empty()) {
      api::AllocatedDeviceExtension extension;
      extension.vfs = each.vfs;
      extension.gpu_shared_resource_template = each.share_template;
      to.extension = api::Box<api::AllocatedDeviceExtension>(std::move(extension));
    }
    if (device == nullptr) continue;
    for (const api::DeviceInfo& info : device->spec.devices)
      if (info.minor == each.minor && info.type == to_string(each.type)) {
        to.id = info.id;
        break;
      }
  }
  return written;
}

}  // namespace koord::scheduling::device_share
