// DeviceShare's say about a pod: see devices.hpp.
#include "support/reference/devices/devices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/reference/devices/choice.hpp"

namespace koord::reference {

Filtered Devices::filter(const api::Node& node) const {
  if (asks_.types.empty()) return std::nullopt;
  const DeviceMachine machine(cluster_, node);
  const auto reject = [](std::string why, bool unresolvable) {
    return Rejection{"DeviceShare", unresolvable, {std::move(why)}};
  };
  if (asks_.shares) {
    if (!asks_.isolation.empty() && asks_.isolation != machine.isolation)
      return reject("GPUIsolationProviderHAMICore not found on the node", true);
    if (std::ranges::find(args_.unshared, std::pair(machine.vendor, machine.model)) != args_.unshared.end())
      return reject(fmt::format("model \"{}\" of vendor \"{}\" does not support GPU Share", machine.model,
                                machine.vendor),
                    true);
  }
  if (!machine.known) return std::nullopt;
  const DeviceChoice::Why why = DeviceChoice(args_, asks_, machine, false).choose();
  if (!why.refused()) return std::nullopt;
  return reject(why.text, why.unresolvable);
}

RawScores Devices::scores(const Feasible& nodes) const {
  if (asks_.types.empty()) return std::nullopt;
  std::vector<std::int64_t> scores;
  for (const NodeState* node : nodes) {
    const DeviceMachine machine(cluster_, *node->node);
    scores.push_back(machine.known ? DeviceChoice(args_, asks_, machine, false).score() : 0);
  }
  return scores;
}

/// In percent of the best.
void Devices::normalize(std::vector<std::int64_t>& scores) {
  const std::int64_t best = scores.empty() ? 0 : *std::ranges::max_element(scores);
  for (std::int64_t& score : scores) score = best == 0 ? 0 : score * 100 / best;
}

DeviceGift Devices::gift(const api::Node& node) const {
  DeviceGift gift;
  if (asks_.types.empty()) return gift;
  const DeviceMachine machine(cluster_, node);
  if (!machine.known) return gift;
  DeviceChoice choice(args_, asks_, machine, true);
  gift.refused = choice.choose().text;
  gift.devices = choice.chosen();
  return gift;
}

}  // namespace koord::reference
