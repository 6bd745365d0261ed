// The bounds of the fields of slo-controller-config's keys, as upstream's validator has and words them.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "koord/json/value.hpp"

namespace koord::manager {

/// One field. What is absent or null is right.
struct ValueRule {
  std::string_view wire;   // its path in the strategy: "cpuQOS.groupIdentity"
  std::string_view named;  // the same in upstream's messages: "CPUQOS.CPUQOS.GroupIdentity"
  std::optional<double> least = {}, most = {};
  bool above = false;  // above `least`, which is not allowed itself
  /// Paths of the fields that it must be above and below. Of the first it does not matter if it is absent;
  /// the second must be there, or be `below_if_absent`.
  std::string_view greater_than = {}, less_than = {};
  std::optional<double> below_if_absent = {};
};

/// Where rules hold: in the member at `wire`, which messages name `named`. Both are empty for the strategy
/// itself.
struct ValuePart {
  std::string_view wire, named;
  std::span<const ValueRule> rules;
};

std::span<const ValuePart> colocation_values();
std::span<const ValuePart> threshold_values();
std::span<const ValuePart> qos_values();
std::span<const ValuePart> system_values();
std::span<const ValuePart> burst_values();

/// Upstream's messages by the names of the fields.
using ValueErrors = std::map<std::string, std::string, std::less<>>;

/// Checks what `strategy` says. Pairs of fields are held against one another as they are in effect:
/// `effective` is the strategy with what it inherits. `prefix` is put before the names, such as
/// "CPUBurstCfg.ClusterStrategy.".
void check_values(const json::Value& strategy, const json::Value& effective, std::span<const ValuePart> parts,
                  std::string_view prefix, ValueErrors& errors);

}  // namespace koord::manager
