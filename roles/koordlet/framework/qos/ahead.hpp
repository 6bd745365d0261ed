// Ahead: values that strategies will want of groups which the kubelet has just made, written before any of
// them knows: a container runtime has told of the pod. Noted in the journal first, like all others.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "framework/executor/executor.hpp"
#include "framework/model/inventory.hpp"
#include "framework/qos/arbiter.hpp"
#include "framework/qos/journal.hpp"
#include "koord/base/clock.hpp"

namespace koord::koordlet {

class Ahead {
 public:
  struct Value {
    host::Knob knob{};
    std::string group;
    KnobValue value;
    std::string_view strategy, reason;  // static texts
  };
  /// A container's value that its runtime gave it because it was told to.
  struct Given {
    host::Knob knob{};
    std::string group;
    KnobValue given, free;  // free: what it would have had otherwise
    std::string strategy;
  };
  /// How long the strategies have to learn of the pod: what none of them wants by then is set free.
  static constexpr nanoseconds kPatience = std::chrono::seconds(30);

  /// What is decided on already is left to who decides it, as are groups that are not there. Code::io: the
  /// journal could not be saved, and all was written nevertheless.
  Result<> write(std::span<const Value> values, Executor& executor, const Arbiter& arbiter, Journal& journal,
                 MonoTime now);
  /// Notes what sets those free that have what they were given, so that it goes back when nobody wants it any
  /// more, as what was written does. To be called before strategies see the containers. Code::io, as above.
  Result<> note(std::span<const Given> values, Executor& executor, Journal& journal, MonoTime now);
  /// Pods are known from now on, to this agent. What an earlier one noted of pods and containers of which the
  /// kubelet tells only later stays for as long as strategies have to learn of them.
  void begin(MonoTime now);
  /// Whether an entry of the journal is one that strategies may not know yet.
  bool covers(const Journal::Entry& entry, MonoTime now) const;
  /// Whether an entry of a hook's may be of a pod or container of which the kubelet has yet to tell this
  /// agent.
  bool awaits(const Journal::Entry& entry, const Inventory& inventory, MonoTime now) const;
  /// Nobody will learn of anything any more.
  void forget() {
    until_.clear();
    adopts_until_ = MonoTime{};
  }

 private:
  using Place = std::pair<host::Knob, std::string_view>;
  /// Looked up each tick for each entry of the journal: without a copy of its name.
  struct ByPlace {
    using is_transparent = void;
    bool operator()(const auto& one, const auto& other) const {
      return Place(one.first, one.second) < Place(other.first, other.second);
    }
  };
  std::map<std::pair<host::Knob, std::string>, MonoTime, ByPlace> until_;
  std::optional<MonoTime> adopts_until_;  // nothing: pods are not known yet
};

}  // namespace koord::koordlet
