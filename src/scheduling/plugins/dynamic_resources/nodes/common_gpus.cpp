// CommonGpus: see common_gpus.hpp.
#include "scheduling/plugins/dynamic_resources/nodes/common_gpus.hpp"

#include <algorithm>
#include <utility>

namespace koord::scheduling::dynamic_resources {

CommonGpus::CommonGpus(CommonDevices& common, NamingAttributes attributes, Withhold withhold)
    : common_(common), attributes_(std::move(attributes)), withhold_(std::move(withhold)) {
  common_.set_claims_side(this);
}

void CommonGpus::before_change(const std::string& node) {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return;
  for (const DeviceNumber device : known->second.withheld) withhold_(device, false);
  nodes_.erase(known);
}

void CommonGpus::after_change(const std::string& node, std::span<const std::shared_ptr<const Slice>> slices) {
  std::vector<CommonDevices::Offered> offered;
  OfNode of;
  for (const std::shared_ptr<const Slice>& slice : slices)
    for (std::size_t i = 0; i < slice->spec().devices.size(); ++i) {
      of.offered.push_back(slice->number(i));
      offered.push_back(names_of(slice->device(i), slice->number(i), slice->spec().driver, attributes_));
    }
  if (!of.offered.empty()) nodes_.insert_or_assign(node, std::move(of));
  common_.offer(node, std::move(offered));  // which tells this side, too
}

void CommonGpus::given(DeviceNumber device, const DeviceId& id, const api::AllocationResult& allocation) {
  common_.claim({.number = device, .driver = id.driver.str(), .node = node_of(allocation)});
}

void CommonGpus::others_changed(std::string_view node) {
  const auto known = nodes_.find(std::string(node));
  if (known == nodes_.end()) return;
  OfNode& of = known->second;
  std::vector<DeviceNumber> now;
  for (const DeviceNumber device : of.offered)
    if (common_.shared(device)) now.push_back(device);
  const std::vector<DeviceNumber> before = std::exchange(of.withheld, std::move(now));
  const auto in = [](const std::vector<DeviceNumber>& list, DeviceNumber device) {
    return std::ranges::find(list, device) != list.end();
  };
  for (const DeviceNumber device : of.withheld)
    if (!in(before, device)) withhold_(device, true);
  for (const DeviceNumber device : before)
    if (!in(of.withheld, device)) withhold_(device, false);
}

}  // namespace koord::scheduling::dynamic_resources
