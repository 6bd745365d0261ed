// DeviceTerms: see device_terms.hpp.
#include "framework/devices/device_terms.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "framework/devices/device_reading.hpp"
#include "framework/objects/annotations.hpp"
#include "koord/api/koordinator/devices.hpp"

namespace koord::koordlet {

namespace {

constexpr std::string_view kHami = "HAMi-core";

std::int64_t amount(const api::ResourceList& list, std::string_view name, std::string_view old_name) {
  const api::Quantity* found = list.find(name);
  if (found == nullptr) found = list.find(old_name);
  return found != nullptr ? bounded(found->value(), kMaxBytes) : -1;
}

/// Nothing: what of it is nonsense, as a warning.
std::optional<std::vector<GivenDevice>> given(const std::vector<api::AllocatedDevice>& list,
                                              std::string_view type, std::vector<std::string>& warnings) {
  const auto refuse = [&](std::string_view what) {
    warnings.push_back(fmt::format("{}: .{}: {}", api::DeviceAllocations::kAnnotation, type, what));
    return std::nullopt;
  };
  if (list.size() > DeviceTerms::kMost)
    return refuse(fmt::format("more than {} devices", DeviceTerms::kMost));
  std::vector<GivenDevice> all;
  all.reserve(list.size());
  for (const api::AllocatedDevice& from : list) {
    if (from.minor < 0) return refuse(fmt::format("minor {} is below 0", from.minor));
    GivenDevice& to = all.emplace_back();
    to.minor = from.minor;
    to.id = from.id;
    to.core = amount(from.resources, api::kGpuCore, api::kOldGpuCore);
    to.memory = amount(from.resources, api::kGpuMemory, api::kOldGpuMemory);
    to.memory_ratio = amount(from.resources, api::kGpuMemoryRatio, api::kOldGpuMemoryRatio);
    to.rdma = amount(from.resources, api::kRdma, api::kOldRdma);
    if (!from.extension) continue;
    if (from.extension->vfs.size() > DeviceTerms::kMost)
      return refuse(fmt::format("more than {} virtual functions", DeviceTerms::kMost));
    for (const api::AllocatedFunction& function : from.extension->vfs)
      to.functions.push_back(function.bus_id);
  }
  return all;
}

}  // namespace

void read_device_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings) {
  const auto said = read<api::DeviceAllocations>(pod.metadata, warnings);
  if (!said) return;
  DeviceTerms all;
  for (const auto& [type, list] : said->devices) {
    auto* const to = type == kGpuType ? &all.gpus : type == kRdmaType ? &all.rdma : nullptr;
    if (to == nullptr) continue;
    if (auto devices = given(list, type, warnings)) *to = std::move(*devices);
  }
  if (all.gpus.empty() && all.rdma.empty()) return;
  all.isolated_by_hami = api::value_or(pod.metadata.labels, api::kGpuIsolationProviderLabel) == kHami;
  terms.put(std::make_shared<const DeviceTerms>(std::move(all)));
}

}  // namespace koord::koordlet
