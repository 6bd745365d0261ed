// Counters: see counters.hpp.
#include "scheduling/plugins/dynamic_resources/allocate/counters.hpp"

namespace koord::scheduling::dynamic_resources {

void Counters::subtract(const NodePools::Uses& uses) {
  for (std::uint32_t i = 0; i < uses.count; ++i) {
    const NodePools::Use& use = pools_.uses[uses.first + i];
    left_[use.counter] -= use.amount;
  }
}

void Counters::reckon(std::uint32_t pool) {
  if (of_pool_.empty()) {
    of_pool_.resize(pools_.pools.size());
    left_ = pools_.counters;
    // A device that several may have takes its counters once, with the first of them.
    const auto is_taken = [&](DeviceNumber number) {
      return taken_.has(number) || taken_.consumed(number) != nullptr;
    };
    for (const NodePools::Elsewhere& device : pools_.elsewhere)
      if (is_taken(device.number)) subtract(device.uses);
    for (const NodePools::Device& device : pools_.devices)
      if (device.uses.count != 0 && is_taken(device.number)) subtract(device.uses);
  }
  OfPool& of = of_pool_[pool];
  of.reckoned = true;
  const NodePools::Pool& bounds = pools_.pools[pool];
  for (std::uint32_t i = 0; i < bounds.counters; ++i)
    if (left_[bounds.first_counter + i].sign() < 0) of.overdrawn = true;
}

bool Counters::take(const NodePools::Device& device) {
  if (of_pool_.empty() || !of_pool_[device.pool].reckoned) reckon(device.pool);
  if (of_pool_[device.pool].overdrawn) return false;
  subtract(device.uses);
  for (std::uint32_t i = 0; i < device.uses.count; ++i)
    if (left_[pools_.uses[device.uses.first + i].counter].sign() < 0) {
      give_back(device);
      return false;
    }
  return true;
}

void Counters::give_back(const NodePools::Device& device) {
  for (std::uint32_t i = 0; i < device.uses.count; ++i) {
    const NodePools::Use& use = pools_.uses[device.uses.first + i];
    left_[use.counter] += use.amount;
  }
}

}  // namespace koord::scheduling::dynamic_resources
