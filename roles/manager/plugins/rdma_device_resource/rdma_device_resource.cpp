// RDMA cards: see rdma_device_resource.hpp.
#include "plugins/rdma_device_resource/rdma_device_resource.hpp"

#include "framework/noderesource/devices.hpp"

#include "koord/api/koordinator/devices.hpp"

namespace koord::manager {
namespace {

using api::Quantity;

using api::kRdma;
constexpr std::string_view kResources[] = {kRdma};

/// With and without colocation, as GPUs.
Result<PluginStage> plan_cards(NodeDraft& draft) {
  if (!draft.facts.devices_known) return PluginStage::none;
  set_devices(draft.plan.after, kResources, rdma_resources(draft.facts.device));
  return PluginStage::calculate;
}

}  // namespace

api::ResourceList rdma_resources(const api::Device* device) {
  const std::int64_t cards = healthy_devices(device, "rdma");
  api::ResourceList sum;
  if (cards != 0) sum[kRdma] = Quantity::from_int(cards * kWholeDevice);
  return sum;
}

extern const ResourcePlugin kRdmaDeviceResource{
    .name = "RDMADeviceResource",
    .resources = kResources,
    .of_devices = true,
    .make = [](const FeatureGates&) -> ResourcePluginRun { return &plan_cards; },
};

}  // namespace koord::manager
