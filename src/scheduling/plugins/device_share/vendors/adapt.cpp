// adapt: see adapt.hpp.
#include "scheduling/plugins/device_share/vendors/adapt.hpp"

#include <fmt/format.h>

#include <span>

#include "koord/api/koordinator/device_plugins.hpp"
#include "koord/json/writer.hpp"

namespace koord::scheduling::device_share {

namespace {

using Given = std::span<const api::AllocatedDevice>;

std::string minors(Given given, std::string_view prefix = {}) {
  std::string text;
  for (const api::AllocatedDevice& each : given)
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", prefix, each.minor);
  return text;
}

std::string nanoseconds_text(WallTime now) { return std::to_string(now.time_since_epoch().count()); }

Error wrong(std::string what) { return Error(Code::invalid, std::move(what)); }

/// Its share of the GPU, in the vendor's unit of memory.
struct Share {
  std::int64_t core, memory;
};
Result<Share> share(const api::AllocatedDevice& given, std::int64_t unit) {
  const api::Quantity* const core = given.resources.find(api::kGpuCore);
  if (core == nullptr) return wrong("gpu core resource is required");
  const api::Quantity* const memory = given.resources.find(api::kGpuMemory);
  const std::int64_t bytes = memory != nullptr ? memory->value() : 0;
  if (bytes < unit) return wrong(fmt::format("gpu memory must not be less than {} bytes", unit));
  return Share{core->value(), bytes / unit};
}

Result<> for_huawei(Given given, std::string_view model, WallTime now, Adapted& to) {
  to.changes.annotations[api::kHuaweiPredicateTime] = nanoseconds_text(now);
  if (model == api::kModelAscend310Duo) {
    to.changes.annotations[api::kHuaweiAscend310P] = minors(given, "Ascend310P-");
    return {};
  }
  const api::AllocatedDevice& first = given.front();
  const bool of_template = first.extension && !first.extension->gpu_shared_resource_template.empty();
  to.changes.annotations[api::kHuaweiNpuCore] =
      of_template ? fmt::format("{}-{}", first.minor, first.extension->gpu_shared_resource_template)
                  : minors(given);
  return {};
}

Result<> for_cambricon(Given given, Adapted& to) {
  if (given.size() > 1) return wrong("multiple gpu share is not supported on device side");
  KOORD_TRY(has, share(given.front(), api::kCambriconMemoryUnit));
  to.changes.annotations[api::kCambriconAssigned] = "false";
  to.changes.annotations[api::kCambriconProfile] =
      fmt::format("{}_{}_{}", given.front().minor, has.core, has.memory);
  to.lock = api::kCambriconLock;
  return {};
}

Result<> for_metax(Given given, Adapted& to) {
  std::string text;
  json::Writer json(text);
  json.begin_array().begin_array();
  for (const api::AllocatedDevice& each : given) {
    KOORD_TRY(has, share(each, api::kMetaxMemoryUnit));
    json.begin_object().member("uuid", each.id);
    json.member("compute", has.core).member("vRam", has.memory).end_object();
  }
  json.end_array().end_array();
  to.changes.annotations[api::kMetaxAllocated] = text;
  to.lock = api::kHamiLock;
  return {};
}

}  // namespace

Result<Adapted> adapt(const api::SymbolMap& pod_labels, const api::SymbolMap* device_labels,
                      std::string_view node, const api::DeviceAllocations& given, WallTime now) {
  Adapted to;
  to.changes.annotations[api::kBindTimestamp] = nanoseconds_text(now);
  const std::vector<api::AllocatedDevice>* const gpus = given.devices.find("gpu");
  if (gpus == nullptr || gpus->empty()) return to;
  to.changes.annotations[api::kGpuMinors] = minors(*gpus);
  if (api::value_or(pod_labels, api::kGpuIsolationProviderLabel) == api::kHamiCore)
    to.changes.labels[api::kHamiNodeLabel] = std::string(node);
  if (device_labels == nullptr)
    return wrong(fmt::format("device.scheduling.koordinator.sh \"{}\" not found", node));
  const std::string_view vendor = api::value_or(*device_labels, api::kGpuVendorLabel);
  Result<> done;
  if (vendor == api::kVendorHuawei) {
    to.vendor = api::kVendorHuawei;
    done = for_huawei(*gpus, api::value_or(*device_labels, api::kGpuModelLabel), now, to);
  } else if (vendor == api::kVendorCambricon) {
    to.vendor = api::kVendorCambricon;
    done = for_cambricon(*gpus, to);
  } else if (vendor == api::kVendorMetax) {
    to.vendor = api::kVendorMetax;
    done = for_metax(*gpus, to);
  }
  if (!done)
    return wrong(fmt::format("failed to adapt for GPU device plugin of vendor \"{}\": {}", to.vendor,
                             done.error().message()));
  return to;
}

}  // namespace koord::scheduling::device_share
