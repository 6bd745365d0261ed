// Resources of devices: see devices.hpp.
#include "framework/noderesource/devices.hpp"

#include <array>

namespace koord::manager {
namespace {

using api::Quantity;

constexpr std::string_view kGpu = "koordinator.sh/gpu", kGpuCore = "koordinator.sh/gpu-core",
                           kGpuShared = "koordinator.sh/gpu.shared", kRdma = "koordinator.sh/rdma";
constexpr std::array<std::string_view, 8> kGpuNames = {kGpu,
                                                       kGpuCore,
                                                       "huawei.com/npu-core",
                                                       "huawei.com/npu-cpu",
                                                       "huawei.com/npu-dvpp",
                                                       "koordinator.sh/gpu-memory",
                                                       "koordinator.sh/gpu-memory-ratio",
                                                       kGpuShared};
constexpr std::array<std::string_view, 1> kRdmaNames = {kRdma};
constexpr std::string_view kVendor = "node.koordinator.sh/gpu-vendor";
constexpr std::array<std::string_view, 3> kGpuLabels = {kVendor, "node.koordinator.sh/gpu-model",
                                                        "node.koordinator.sh/gpu-driver-version"};
constexpr std::int64_t kWhole = 100;  // a device, in percent

std::int64_t healthy(const api::Device* device, std::string_view type) {
  if (device == nullptr) return 0;
  return std::ranges::count_if(device->spec.devices, [type](const api::DeviceInfo& info) {
    return info.type.view() == type && info.health;
  });
}

}  // namespace

std::span<const std::string_view> gpu_resource_names() { return kGpuNames; }
std::span<const std::string_view> rdma_resource_names() { return kRdmaNames; }
std::span<const std::string_view> gpu_label_names() { return kGpuLabels; }

api::ResourceList gpu_resources(const api::Device* device, bool share) {
  const std::int64_t gpus = healthy(device, "gpu");
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
  const std::string_view vendor = api::value_or(device->metadata.labels, kVendor);
  if (vendor.empty() || vendor == "nvidia") {
    const Quantity* const cores = sum.find(kGpuCore);
    sum[kGpu] = cores ? *cores : Quantity();
  }
  if (share) sum[kGpuShared] = Quantity::from_int(gpus * kWhole);
  return sum;
}

api::ResourceList rdma_resources(const api::Device* device) {
  const std::int64_t cards = healthy(device, "rdma");
  api::ResourceList sum;
  if (cards != 0) sum[kRdma] = Quantity::from_int(cards * kWhole);
  return sum;
}

void set_devices(api::Node& node, std::span<const std::string_view> names, const api::ResourceList& amounts) {
  for (const std::string_view name : names) {
    const Quantity* const amount = amounts.find(name);
    if (amount == nullptr && !amounts.empty()) continue;
    for (api::ResourceList* list : {&node.status.capacity, &node.status.allocatable}) {
      if (amount == nullptr) {
        list->erase(name);
        continue;
      }
      Quantity whole = *amount;
      whole.round_up(0);  // an API server takes nothing else
      (*list)[name] = whole;
    }
  }
}

void set_gpu_labels(api::Node& node, const api::Device& device) {
  if (healthy(&device, "gpu") == 0) return;
  for (const std::string_view label : kGpuLabels)
    if (const Symbol* value = device.metadata.labels.find(label)) node.metadata.labels[label] = *value;
}

}  // namespace koord::manager
