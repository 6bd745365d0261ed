// Moving pods off nodes while others have room for what they ask.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plugins/node_utilization/usage.hpp"

namespace koord::descheduler::node_utilization {

struct Moves {
  const Resources& resources;
  std::span<const std::string> excluded_namespaces;
  std::optional<std::int64_t> most_of_node;         // of one node in this pass
  std::function<bool(const api::Pod&)> wanted;      // beside what the filters say
  std::function<bool(const Usage&)> keeps_going;    // asked before each: whether the node gives more
  std::function<std::string(const Usage&)> reason;  // why a pod of it goes
};

/// The least important pods of each node of `from`, in that order, while `room` is more than 0 of every
/// resource; what goes is taken off both. Only pods that tolerate all taints of one of `to`.
Task<> move_pods(Pass& pass, std::span<Usage> from, std::span<const Usage> to, Amounts room,
                 const Moves& moves);

/// What is left of the targets altogether: what they may use less what they use.
Amounts room_of(std::span<const Usage> targets, const Percentages& limits, const Resources& resources);

}  // namespace koord::descheduler::node_utilization
