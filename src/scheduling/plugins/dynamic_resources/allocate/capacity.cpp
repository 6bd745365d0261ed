// Consumable capacity: see capacity.hpp. The rules are those of Kubernetes' structured allocator.
#include "scheduling/plugins/dynamic_resources/allocate/capacity.hpp"

#include <algorithm>

namespace koord::scheduling::dynamic_resources {

using api::Quantity;

namespace {

/// How far the amount is beyond the last step from `min`; 0 where there are no steps.
std::int64_t beyond_step(const Quantity& amount, const api::CapacityRequestPolicyRange& range) {
  const std::int64_t step = range.step ? range.step->value() : 0;
  if (step <= 0) return 0;
  const std::int64_t min = range.min ? range.min->value() : 0;
  return (amount.value() - min) % step;
}

Quantity rounded(const Quantity& asked, const api::DeviceCapacity& of) {
  if (!of.request_policy) return asked;
  const auto& range = of.request_policy->valid_range;
  if (range && range->min) {
    if (asked < *range->min) return *range->min;
    const std::int64_t beyond = beyond_step(asked, *range);
    if (!range->step || range->step->value() <= 0) return asked;
    const std::int64_t missing = beyond == 0 ? 0 : range->step->value() - beyond;
    return Quantity::from_int(asked.value() + missing, Quantity::Format::binary_si);
  }
  for (const Quantity& valid : of.request_policy->valid_values)
    if (asked <= valid) return valid;
  return asked;
}

Quantity consumed(const Quantity* asked, const api::DeviceCapacity& of) {
  if (asked != nullptr) return rounded(*asked, of);
  return of.request_policy && of.request_policy->default_ ? *of.request_policy->default_ : of.value;
}

bool allowed(const Quantity& amount, const api::DeviceCapacity& of) {
  if (!of.request_policy) return true;
  const api::CapacityRequestPolicy& policy = *of.request_policy;
  if (policy.default_ && amount == *policy.default_) return true;
  if (policy.valid_range) {
    if (policy.valid_range->max && amount > *policy.valid_range->max) return false;
    return beyond_step(amount, *policy.valid_range) == 0;
  }
  return policy.valid_values.empty() ||
         std::ranges::find(policy.valid_values, amount) != policy.valid_values.end();
}

}  // namespace

api::ResourceList consumed_capacity(const api::ResourceList* asked, const api::SliceDevice& device) {
  api::ResourceList all;
  for (const auto& [name, capacity] : device.capacity)
    all[name] = consumed(asked == nullptr ? nullptr : asked->find(name), capacity);
  return all;
}

bool capacity_suffices(const api::ResourceList* asked, const api::ResourceList& consumes,
                       const api::SliceDevice& device, const api::ResourceList* others) {
  if (asked != nullptr)
    for (const auto& [name, amount] : *asked)
      if (!device.capacity.contains(name)) return false;
  for (const auto& [name, capacity] : device.capacity) {
    Quantity amount = *consumes.find(name);
    if (!allowed(amount, capacity)) return false;
    if (others != nullptr)
      if (const Quantity* taken = others->find(name)) amount += *taken;
    if (amount > capacity.value) return false;
  }
  return true;
}

}  // namespace koord::scheduling::dynamic_resources
