// Strategy: a part of the QoS manager. It looks at a tick and says which cgroup values it wants; the arbiter
// merges what all strategies want, the executor writes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "framework/plan/action.hpp"
#include "framework/plan/cache_group.hpp"
#include "framework/tick/tick_view.hpp"
#include "koord/host/cgroup_knobs.hpp"
#include "koord/host/cpuset.hpp"

namespace koord::koordlet {

/// What a knob shall hold, which its row says the type of; of cgroups in v1's terms. -1 is "none" for quotas
/// and limits. An empty set of CPUs is "what the parent has", which only cgroup v2 can say: strategies never
/// want it. A text is one line.
using KnobValue = std::variant<std::int64_t, host::CpuSet, std::string>;
/// "-1", "0-3", the text.
std::string to_string(const KnobValue& value);

/// Which groups an intent is about: those `from` to `to` levels below its group, which is level 0 itself.
struct LevelRange {
  static constexpr int kAll = 64;  // to the leaves
  int from = 0, to = 0;
  std::vector<std::string> except;  // these groups and what is below them are left alone

  friend bool operator==(const LevelRange&, const LevelRange&) = default;
};

inline constexpr std::string_view kUpdateCgroups = "UpdateCgroups";

struct Intent {
  host::Knob knob{};
  std::string group;  // or what stands for it in the knob's domain
  std::string key;    // which one is meant where the file has many settings: see host::KnobLayout
  KnobValue value;
  std::string_view strategy;  // static text: who wants it
  std::string reason;         // for the audit and `koord top`: "LS pods use 3.2 of 4 CPUs"
  std::string_view audit_reason = kUpdateCgroups;  // static text: upstream's name for such a change
  LevelRange reach;
  /// What sets the groups free when nobody wants anything of them any more, if that is not what koord found
  /// there: for groups that nobody else limits, for what a pod's spec says, and where a dead agent's limit
  /// may have been found. By default what the knob's row says.
  std::optional<KnobValue> undo;
  bool held = false;  // of an earlier tick: the strategy cannot tell now
  /// Where another program writes the file, too, its value stays.
  bool yields = false;
  /// Hardly any other group will have this one's name, as a container's, whose id is in it (docker may start
  /// one again under its id): whether it is still the same one is asked seldom.
  bool unique = false;
};

/// What one strategy wants: each knob of a group is set (named by want()), kept (hold(), until the deadline
/// of the strategy's row) or released (not named any more: the manager sets it free). It stands until the
/// strategy is asked again. The intents' memory is used again by the next plans.
class Plan {
 public:
  /// An intent for the group itself; key, reach and undo may be set in the answer, which is valid until the
  /// next call. An empty set of CPUs is dropped here, whatever made it: the answer then is of no effect.
  Intent& want(host::Knob knob, std::string_view group, KnobValue value, std::string_view reason);
  /// The strategy cannot tell in this tick (an input is missing): what it wanted before of the knobs and
  /// groups that it does not name now is still wanted. For as long as its row says (StrategyEntry::hold): see
  /// Strategy::neutral().
  void hold() { held_ = true; }
  /// It may not tell what it wants of one knob: what it wanted of that is still wanted, and what is in the
  /// files stays, for however long. All else that it names counts.
  void keep(host::Knob knob) { kept_ = knob; }
  /// Something to do beside cgroup values. The manager begins it, or not: see Actions.
  void act(std::shared_ptr<const PodInfo> pod, std::string message);
  /// What processes shall be given, for as long as the plan stands; of the kind that the strategy's row names
  /// (StrategyEntry::sets).
  void set(ProcessSetting setting) { processes_.push_back(std::move(setting)); }
  /// Who shall share a part of the caches, for as long as the plan stands; of rows that have groups
  /// (StrategyEntry::cache_groups).
  void share(CacheGroup group) { cache_groups_.push_back(std::move(group)); }

  std::span<const Intent> intents() const { return {intents_.data(), size_}; }
  std::span<const Action> actions() const { return actions_; }
  std::span<const ProcessSetting> processes() const { return processes_; }
  std::span<const CacheGroup> cache_groups() const { return cache_groups_; }
  bool held() const { return held_; }
  /// Whether what it does not name of a knob stays as it is.
  bool keeps(host::Knob knob) const { return held_ || kept_ == knob; }
  bool is_whole() const { return !held_ && !kept_; }
  /// It wants the same of the same groups as the one before, in the same order: only reasons are others.
  bool repeats() const;
  bool names(host::Knob knob, std::string_view group, std::string_view key = {}) const {
    return names(knob, group, key, size_);
  }
  std::string_view strategy() const { return strategy_; }

  // The manager's.
  void start(std::string_view strategy);  // empties it, for the strategy that fills it next
  void keep_held();                       // adds what is held or kept to what the strategy has named

 private:
  Intent& next();
  bool names(host::Knob knob, std::string_view group, std::string_view key, std::size_t among_first) const;

  std::string_view strategy_;
  std::vector<Intent> intents_, before_;  // before_: of the tick before
  std::vector<Action> actions_;
  std::vector<ProcessSetting> processes_;
  std::vector<CacheGroup> cache_groups_;
  Intent dropped_;
  std::size_t size_ = 0, size_before_ = 0;
  bool held_ = false;
  std::optional<host::Knob> kept_;
};

/// What a strategy has to say about itself: for /apis/v1/node and `koord top`.
struct StrategyStatus {
  bool active = false;
  std::string summary;  // "cfsQuota: 1.8 of 4 CPUs for best-effort; LS pods use 1.1"
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Called on the event loop's thread while a NodeSLO is known, or pods are (StrategyEntry::needs_slo), as
  /// often as the strategy's row says.
  virtual void plan(const TickView& view, Plan& plan) = 0;
  /// Called as often as that while the plan of a strategy stands that is asked on changes only
  /// (Replan::on_change): whether something else has changed, so that it has to be asked again at once.
  virtual bool look(const TickView&) { return false; }
  /// What it wants where it has not been able to tell for so long that what it wanted last means nothing any
  /// more: something gentle that needs no measuring. The NodeSLO may be null, too. By default what release()
  /// says.
  virtual void neutral(const TickView& view, Plan& plan) { release(*view.inventory, plan); }
  /// The values that undo what this strategy or a dead agent before it may have left: on --cleanup, on a stop
  /// that is meant to be for good, where no NodeSLO is any more, and at the start of an agent whose gate for
  /// the strategy is off. Only groups of which nobody else limits the knob: the manager's journal knows the
  /// others.
  virtual void release(const Inventory& inventory, Plan& plan) = 0;
  virtual StrategyStatus status() const { return {}; }
};

}  // namespace koord::koordlet
