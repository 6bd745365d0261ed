// Arbiter: makes one value for each file out of what all strategies want.
//
// The order, from strongest to weakest:
//   1. the strategy that stands earlier in the table; of a knob whose row says so the smaller or the larger
//      value instead, where both strategies name the group itself. What only sets free counts least;
//   2. within a strategy the intent that is closer: one for the group itself before one that reaches it from
//      two levels above;
//   3. within a strategy, at the same distance, the intent that came first.
// The same value twice is no conflict. Then no group may be wider than the nearest group above it of which
// something is wanted too: its CPUs are cut to that one's (where nothing is left, they are that one's), and
// in cgroup v1, which refuses it, a quota that is a larger share of its period is cut to that one's
// share.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "framework/executor/executor.hpp"
#include "framework/qos/group_tree.hpp"

namespace koord::koordlet {

class Arbiter {
 public:
  struct Decision {
    KnobId target;
    const Intent* intent = nullptr;
    const KnobValue* value = nullptr;  // the intent's, or what it was cut to
    std::string_view group;
    std::uint32_t plan = 0;  // its place in the call
    int level = 0;
  };

  Arbiter(Executor& executor, GroupTree& tree) : executor_(executor), tree_(tree) {}

  /// Plans in the order of their strength. The decisions, at most one a target, are valid until the next call
  /// and as long as the intents are.
  std::span<const Decision> decide(std::span<const std::span<const Intent>> plans);
  /// Whether the last call decided something for this target.
  const Decision* find(KnobId target) const;
  /// How many targets two strategies wanted different values of, or were cut, in the last call.
  std::size_t conflicts() const { return conflicts_; }

 private:
  void add(const Decision& decision);
  void cut();
  const Decision* nearest_above(const Decision& decision) const;
  /// What is left of a decision's value under one for a group above; nothing: it may stay.
  std::optional<KnobValue> cut_to(const Decision& decision, const Decision& above);
  std::int64_t period_of(std::string_view group);

  Executor& executor_;
  GroupTree& tree_;
  std::vector<Decision> decisions_;
  std::vector<std::uint32_t> place_;  // by the target's index: one more than its place in decisions_
  std::deque<KnobValue> cut_;
  std::vector<std::uint8_t> intents_;  // by knob: 0, 1, or 2 for more
  std::size_t conflicts_ = 0;
};

}  // namespace koord::koordlet
