// Constraints: what the devices of a claim must have in common, or each for itself.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "scheduling/plugins/dynamic_resources/pools/pools.hpp"

namespace koord::scheduling::dynamic_resources {

/// The attribute of a fully qualified name ("DOMAIN/ID"): under that name, or under its ID where the domain
/// is the driver. nullptr if the device has none.
const api::DeviceAttribute* find_attribute(const api::SliceDevice& device, std::string_view driver,
                                           std::string_view name);

/// One constraint of a claim and the devices that count for it, as a stack.
class Constraint {
 public:
  /// It has an attribute. All outlive it.
  Constraint(const api::DeviceConstraint& constraint, const NodePools& pools);

  /// Whether the device may come to those that are there.
  bool admits(std::uint32_t device);
  void push(std::uint32_t device);
  void pop();

 private:
  /// Values of the attribute are numbered as they are met: equal ones have one number.
  using Value = std::uint32_t;
  static constexpr Value kUnknown = 0, kAbsent = 1, kUntyped = 2, kFirst = 3;
  Value value_of(std::uint32_t device);

  const NodePools& pools_;
  Symbol attribute_;
  bool distinct_;
  std::vector<Value> by_device_;
  /// Of which type it is, and the value, as text or as a number.
  using Key = std::tuple<std::uint8_t, Symbol, std::int64_t>;
  std::map<Key, Value> met_;
  std::vector<Value> chosen_;
};

}  // namespace koord::scheduling::dynamic_resources
