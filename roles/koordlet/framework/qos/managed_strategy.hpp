// ManagedStrategy: a strategy of the table as the manager has it: what flags say of it, when it is its turn,
// what it cannot tell, and its plan.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "framework/action/process_settings.hpp"
#include "framework/qos/arbiter.hpp"
#include "framework/qos/plugin.hpp"
#include "framework/resctrl/resctrl_groups.hpp"

namespace koord::koordlet {

struct ManagedStrategy {
  /// What gates and flags say; stays as it is.
  struct Settings {
    bool enabled = false;
    bool dry = false;                      // its plans are only shown
    ProcessSettings* processes = nullptr;  // who sets what it wants of processes; null: it wants nothing
    ResctrlGroups* groups = nullptr;       // the same of groups of resctrl
    nanoseconds interval{};                // of its plans; 0: each tick
  };
  /// When it is asked, and when it is looked at what has become of its plan.
  struct Turn {
    MonoTime next{}, looks{};  // for a plan, and while one stands whether it needs one
    bool stands = false;       // nothing has changed since its last one
    MonoTime look_at{};        // when the files of what is in force are looked at again
  };
  /// It cannot tell what it wants.
  struct Hold {
    std::optional<MonoTime> since;
    bool neutral = false;          // for too long
    std::string_view waiting_for;  // the text of what it lacks; empty: nothing
  };
  struct Off {
    bool is = false;        // its gate is, or there is no NodeSLO
    bool released = false;  // what it may have left has been set free
  };

  const StrategyEntry* row = nullptr;
  std::unique_ptr<Strategy> strategy = {};
  Settings settings = {};
  Turn turn = {};
  Hold hold = {};
  Off off = {};
  PlanDelta delta{};  // of its plan, in this tick
  Plan plan = {};

  bool is_on_change() const { return row->replan == Replan::on_change; }
  /// Whether it is its time to plan. What stands is looked at no more often than it would be made anew.
  bool is_asked(const TickView& view);
  /// Tells those two what its plan wants, or that it wants nothing.
  void hand_over(bool wants = true) const;
  /// What it says of itself, or what is said where it cannot.
  StrategyStatus status() const;
};

/// What a cleanup has given back that is no file: processes' values, groups of resctrl and their tasks.
struct GivenBack {
  std::size_t count = 0;
  std::optional<Error> failed;  // the first that failed; it has stopped no other
};
/// `groups` may be null.
GivenBack give_back(std::span<ProcessSettings* const> processes, ResctrlGroups* groups);

}  // namespace koord::koordlet
