// Strategy: a part of the QoS manager. It looks at a tick and says which cgroup values it wants; the arbiter
// merges what all strategies want, the executor writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "framework/tick_view.hpp"
#include "koord/host/cgroup_knobs.hpp"
#include "koord/host/cpuset.hpp"

namespace koord::koordlet {

/// What a knob shall hold, in cgroup v1's terms; -1 is "none" for quotas and limits.
using KnobValue = std::variant<std::int64_t, host::CpuSet>;

struct Intent {
  host::Knob knob;
  std::string group;
  KnobValue value;
  std::string_view strategy;  // static text: who wants it
  std::string reason;         // for the audit and `koord top`: "LS pods use 3.2 of 4 CPUs"
};

/// What one strategy wants in this tick. What it does not name it does not care about any more.
class Plan {
 public:
  void want(host::Knob knob, std::string group, KnobValue value, std::string reason);
  const std::vector<Intent>& intents() const { return intents_; }
  void start(std::string_view strategy);  // empties it, for the strategy that fills it next

 private:
  std::string_view strategy_;
  std::vector<Intent> intents_;
};

/// What a strategy has to say about itself: for /apis/v1/node and `koord top`.
struct StrategyStatus {
  bool active = false;
  std::string summary;  // "cfsQuota: 1.8 of 4 CPUs for best-effort; LS pods use 1.1"
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;
  /// Called once a tick, on the event loop's thread.
  virtual void plan(const TickView& view, Plan& plan) = 0;
  /// The values that undo what this strategy or a dead agent before it may have left: on --cleanup, on a stop
  /// that is meant to be for good, and at the start.
  virtual void release(const Inventory& inventory, Plan& plan) = 0;
  virtual StrategyStatus status() const { return {}; }
};

}  // namespace koord::koordlet
