// Targets: nodes that take pods, with the room that is left after those that are placed there meanwhile.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/plugin.hpp"
#include "koord/api/values/quantity.hpp"
#include "koord/api/values/string_map.hpp"

namespace koord::descheduler::custom_priority {

using Percentages = api::FlatMap<double>;  // by resource, as they are written

/// Nothing: it has no limit. `used` and `has` by resource; one that the node does not have is not used.
bool is_above(const api::FlatMap<api::Quantity>& used, const api::FlatMap<api::Quantity>& has,
              const Percentages& limits);
/// What pods of the node that have not ended ask for, and how many they are, as "pods".
api::FlatMap<api::Quantity> used_on(const NodeView& node);

/// Copies are cheap enough to try something on.
class Targets {
 public:
  struct Target {
    const NodeView* node = nullptr;
    const Percentages* reject = nullptr;  // above these it takes no more; nullptr: it always does
  };
  explicit Targets(std::vector<Target> targets) : targets_(std::move(targets)) {}

  /// The first that wants it (`fits`; nullptr: all do) and has room for it besides what was placed before.
  /// nullptr: none has.
  const NodeView* place(const api::Pod& pod, NodeFit* fits);
  /// It was placed there and does not come.
  void take_back(const api::Pod& pod, const NodeView& node);
  bool rejects() const;  // whether one of them has such a limit

 private:
  bool takes(const Target& target, const api::FlatMap<api::Quantity>& asked);

  std::vector<Target> targets_;
  std::map<const NodeView*, api::FlatMap<api::Quantity>> used_;
};

}  // namespace koord::descheduler::custom_priority
