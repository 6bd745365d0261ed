// Taken: see taken.hpp.
#include "scheduling/plugins/dynamic_resources/allocate/taken.hpp"

namespace koord::scheduling::dynamic_resources {

void Taken::take(DeviceNumber device) {
  if (device >= counts_.size()) counts_.resize(device + 1);
  ++counts_[device];
}

void Taken::give_back(DeviceNumber device) {
  if (has(device)) --counts_[device];
}

void Taken::consume(DeviceNumber device, const api::ResourceList& capacity) {
  Shares& shares = shares_[device];
  ++shares.count;
  for (const auto& [name, amount] : capacity) shares.capacity[name] += amount;
}

void Taken::give_back(DeviceNumber device, const api::ResourceList& capacity) {
  const auto shares = shares_.find(device);
  if (shares == shares_.end()) return;
  for (const auto& [name, amount] : capacity)
    if (api::Quantity* left = shares->second.capacity.find(name)) *left -= amount;
  if (--shares->second.count == 0) shares_.erase(shares);
}

const api::ResourceList* Taken::consumed(DeviceNumber device) const {
  const auto shares = shares_.find(device);
  return shares == shares_.end() ? nullptr : &shares->second.capacity;
}

}  // namespace koord::scheduling::dynamic_resources
