// Constraints: see constraints.hpp.
#include "scheduling/plugins/dynamic_resources/allocate/constraints.hpp"

#include <algorithm>

namespace koord::scheduling::dynamic_resources {

const api::DeviceAttribute* find_attribute(const api::SliceDevice& device, std::string_view driver,
                                           std::string_view name) {
  if (const api::DeviceAttribute* found = device.attributes.find(name)) return found;
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.substr(0, slash) != driver) return nullptr;
  return device.attributes.find(name.substr(slash + 1));
}

Constraint::Constraint(const api::DeviceConstraint& constraint, const NodePools& pools)
    : pools_(pools),
      attribute_(constraint.match_attribute ? *constraint.match_attribute : *constraint.distinct_attribute),
      distinct_(!constraint.match_attribute),
      by_device_(pools.devices.size(), kUnknown) {}

Constraint::Value Constraint::value_of(std::uint32_t device) {
  Value& value = by_device_[device];
  if (value != kUnknown) return value;
  const Slice& slice = *pools_.devices[device].slice;
  const api::DeviceAttribute* found =
      find_attribute(pools_.devices[device].object(), slice.spec().driver, attribute_);
  if (found == nullptr) return value = kAbsent;
  Key key{};
  if (found->string)
    key = {1, *found->string, 0};
  else if (found->int_)
    key = {2, {}, *found->int_};
  else if (found->bool_)
    key = {3, {}, *found->bool_ ? 1 : 0};
  else if (found->version)
    key = {4, *found->version, 0};
  else
    return value = kUntyped;
  value = met_.try_emplace(key, kFirst + static_cast<Value>(met_.size())).first->second;
  return value;
}

bool Constraint::admits(std::uint32_t device) {
  const Value value = value_of(device);
  if (value == kAbsent) return false;
  if (chosen_.empty()) return true;
  if (value == kUntyped) return false;  // it is like no other, nor known to differ
  return distinct_ ? std::ranges::find(chosen_, value) == chosen_.end() : chosen_.front() == value;
}

void Constraint::push(std::uint32_t device) { chosen_.push_back(value_of(device)); }

void Constraint::pop() { chosen_.pop_back(); }

}  // namespace koord::scheduling::dynamic_resources
