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
// in cgroup v1, which refuses it, what is a larger share of another knob (KnobRow::share: a quota of its
// period) is cut to that one's share.
//
// It knows no knob by name: what it has to know of one is in the knob's row.
//
// What was decided of a knob stands until a plan that names it has changed, or the groups that it reaches.
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

/// What has become of a plan since the last call: it was not made anew, it says the same (Plan::repeats()),
/// or something else.
enum class PlanDelta : std::uint8_t { none, repeated, changed };

class Arbiter {
 public:
  struct Decision {
    KnobId target;
    const Intent* intent = nullptr;
    const KnobValue* value = nullptr;  // the intent's, or what it was cut to
    std::string_view group;
    std::uint32_t plan = 0;  // its place in the call
    int level = 0;
    std::uint32_t at = 0;  // the intent's place in its plan
  };
  /// What is decided of one knob.
  struct Ruling {
    std::vector<Decision> decisions;  // at most one a target
    std::size_t conflicts = 0;
    /// Differs where other files are decided on, for other plans, or other groups shall be idle.
    std::size_t shape = 0;
    /// The caller's, which finds it false after each new ruling: nothing has to be done for these files.
    bool calm = false;

   private:
    friend class Arbiter;
    std::deque<KnobValue> cut_;
    bool stale_ = false;
  };

  Arbiter(Executor& executor, GroupTree& tree);

  /// Plans in the order of their strength; without deltas all of them have changed. Rulings are by knob, and
  /// valid until the next call and as long as the intents are.
  std::span<Ruling> decide(std::span<const std::span<const Intent>> plans,
                           std::span<const PlanDelta> deltas = {});
  const Ruling& of(host::Knob knob) const { return rulings_[static_cast<std::size_t>(knob)]; }
  /// What the last call decided for this target; null: nothing.
  const Decision* find(KnobId target) const;
  /// How many targets two strategies wanted different values of, or were cut, as it stands now.
  std::size_t conflicts() const;
  std::size_t shape() const;

 private:
  /// Which of a plan's intents are about a knob, by knob.
  using Index = std::vector<std::vector<std::uint32_t>>;
  struct Place {
    std::uint32_t number = 0;  // one more than its place among the ruling's decisions; 0: none
    host::Knob knob{};
  };
  static void index(std::span<const Intent> plan, Index& index);
  void outdate(const Index& index);
  void rule(host::Knob knob, std::span<const std::span<const Intent>> plans);
  void point(std::uint32_t plan, std::span<const Intent> intents);
  void add(Ruling& ruling, const Decision& decision);
  void cut(Ruling& ruling);
  const Decision* nearest_above(const Decision& decision) const;
  /// What is left of a decision's value under one for a group above; nothing: it may stay.
  std::optional<KnobValue> cut_to(const Decision& decision, const Decision& above);
  /// By what a group's value is measured; above 0.
  std::int64_t measure_of(const host::KnobShare& share, std::string_view group);

  Executor& executor_;
  GroupTree& tree_;
  std::uint64_t tree_version_ = 0;
  std::vector<Ruling> rulings_;  // by knob
  std::vector<Index> indices_;   // by plan
  std::vector<Place> places_;    // by the target's index
};

}  // namespace koord::koordlet
