// GPUs: see gpu_device_resource.hpp.
#include "plugins/gpu_device_resource/gpu_device_resource.hpp"

#include <array>

#include "framework/noderesource/devices.hpp"

#include "koord/api/koordinator/devices.hpp"

namespace koord::manager {
namespace {

using api::Quantity;

using api::kGpu;
using api::kGpuCore;
using api::kGpuShared;
constexpr std::array<std::string_view, 8> kGpuNames = {
    kGpu,          kGpuCore,        api::kNpuCore,        api::kNpuCpu,
    api::kNpuDvpp, api::kGpuMemory, api::kGpuMemoryRatio, kGpuShared};
constexpr std::array<std::string_view, 3> kGpuLabels = {api::kGpuVendorLabel, api::kGpuModelLabel,
                                                        api::kGpuDriverVersionLabel};

/// Upstream leaves them alone where there is no colocation: a GPU that broke would be given away for ever.
Result<PluginStage> plan_gpus(NodeDraft& draft, bool share) {
  const NodeFacts& facts = draft.facts;
  if (!facts.devices_known) return PluginStage::none;
  set_devices(draft.plan.after, kGpuNames, gpu_resources(facts.device, share));
  if (facts.device != nullptr) set_gpu_labels(draft.plan.after, *facts.device);
  return PluginStage::calculate;
}

}  // namespace

api::ResourceList gpu_resources(const api::Device* device, bool share) {
  const std::int64_t gpus = healthy_devices(device, "gpu");
  api::ResourceList sum;
  if (gpus == 0) return sum;
  for (const api::DeviceInfo& info : device->spec.devices) {
    if (info.type.view() != "gpu" || !info.health) continue;
    for (const auto& [name, amount] : info.resources) {
      if (amount.sign() < 0) continue;
      if (Quantity* before = sum.find(name.view()))
        *before += amount;
      else
        sum[name] = amount;
    }
  }
  const std::string_view vendor = api::value_or(device->metadata.labels, api::kGpuVendorLabel);
  if (vendor.empty() || vendor == "nvidia") {
    const Quantity* const cores = sum.find(kGpuCore);
    sum[kGpu] = cores ? *cores : Quantity();
  }
  if (share) sum[kGpuShared] = Quantity::from_int(gpus * kWholeDevice);
  return sum;
}

void set_gpu_labels(api::Node& node, const api::Device& device) {
  if (healthy_devices(&device, "gpu") == 0) return;
  for (const std::string_view label : kGpuLabels)
    if (const Symbol* value = device.metadata.labels.find(label)) node.metadata.labels[label] = *value;
}

extern const ResourcePlugin kGpuDeviceResource{
    .name = "GPUDeviceResource",
    .resources = kGpuNames,
    .of_devices = true,
    .labels = kGpuLabels,
    .make = [](const FeatureGates& gates) -> ResourcePluginRun {
      return [share = gates.enabled("EnableSyncGPUSharedResource")](NodeDraft& draft) {
        return plan_gpus(draft, share);
      };
    },
};

}  // namespace koord::manager
