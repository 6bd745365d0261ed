// What a request consumes of a device's capacities: see choice.hpp.
#include "support/reference/claims/choice.hpp"

namespace koord::reference {

namespace {

/// What is asked for, rounded up as the policy says; where nothing is, the policy's word or all of it.
api::Quantity consumed(const api::Quantity* asked, const api::DeviceCapacity& of) {
  if (asked == nullptr)
    return of.request_policy && of.request_policy->default_ ? *of.request_policy->default_ : of.value;
  if (!of.request_policy) return *asked;
  const auto& range = of.request_policy->valid_range;
  if (range && range->min) {
    if (*asked <= *range->min) return *range->min;
    if (!range->step) return *asked;
    api::Quantity amount = *range->min;
    while (amount < *asked) amount += *range->step;
    return amount;
  }
  for (const api::Quantity& valid : of.request_policy->valid_values)
    if (*asked <= valid) return valid;
  return *asked;
}

}  // namespace

api::ResourceList consumed_of(const api::ResourceList& asked, const api::SliceDevice& device) {
  api::ResourceList all;
  for (const auto& [name, capacity] : device.capacity) all[name] = consumed(asked.find(name), capacity);
  return all;
}

}  // namespace koord::reference
