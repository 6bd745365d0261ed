// BoundDemand: see bound_demand.hpp.
#include "scheduling/plugins/device_share/allocate/bound_demand.hpp"

#include <algorithm>
#include <utility>

#include "koord/api/koordinator/devices.hpp"

namespace koord::scheduling::device_share {

BoundDemand::BoundDemand(const DeviceDemand& wanted, std::shared_ptr<const DeviceShape> of_machine)
    : demand(&wanted), shape(std::move(of_machine)) {
  for (const DeviceType type : kAllDeviceTypes) {
    const TypeDemand& asked = demand->of(type);
    const DeviceShape::OfType& of = shape->of(type);
    OfType& bound = types[index(type)];
    bound.selected = of.all;
    if (!asked.wanted) continue;
    for (std::size_t i = 0; asked.selector && i < of.devices.size(); ++i)
      if (!asked.selector->matches(of.devices[i].labels)) bound.selected &= ~(Places{1} << i);
    if (!asked.vf_selector) continue;
    std::vector<bool> groups;
    groups.reserve(of.function_labels.size());
    for (const api::SymbolMap& labels : of.function_labels)
      groups.push_back(asked.vf_selector->matches(labels));
    bound.functions.assign(shape->words, 0);
    for (const DeviceShape::Device& device : of.devices)
      for (std::size_t i = 0; i < device.functions.size(); ++i)
        if (groups[device.functions[i].group])
          bound.functions[device.first_word + i / 64] |= std::uint64_t{1} << i % 64;
  }
  const TypeDemand& gpus = demand->of(DeviceType::gpu);
  if (!gpus.wanted) return;
  const GpuDemand& gpu = demand->gpu;
  partitions = gpu.shared ? nullptr : shape->partitions_of(gpus.count);
  if (partitions != nullptr)
    for (const DeviceShape::Partition& each : partitions->partitions)
      if (each.whole && (!gpu.bandwidth || (each.bandwidth && *gpu.bandwidth <= *each.bandwidth)))
        wide_enough.push_back(&each);
  if (!gpu.by_template) return;
  const std::string model = api::gpu_model_key(shape->vendor, shape->model);
  for (const auto& [key, names] : gpu.templates)
    if (key == model) {
      templates = names.size();
      if (templates == 1) share_template = names.front();
    }
}

}  // namespace koord::scheduling::device_share
