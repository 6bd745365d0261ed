// NumaPlace: on which memory nodes a pod is to be, as who decides it tells those who give out other parts of
// the node (devices).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "koord/scheduling/plugin/numa_hint_plugin.hpp"

namespace koord::scheduling {

class NumaHints;
struct PodAttempt;

/// In PodInfo::kept from Reserve on: the memory nodes of the chosen node that the pod is bound to.
struct NumaPlace {
  NumaMask nodes = 0;
};

/// Decides by what all providers of hints say (Koordinator's topology manager).
class NumaDecider {
 public:
  virtual ~NumaDecider() = default;
  /// Once for a class. nullptr: such a pod is bound to no memory nodes.
  virtual std::unique_ptr<PodState> prepare_place(const PodInfo& pod) = 0;
  /// 0: it is bound to none there. Absent: it is refused there, by the decider's own filter.
  virtual std::optional<NumaMask> place(PodState& state, const NodeView& view) const = 0;

  /// Whether there may be a row on which it binds such a pod, and whether it may refuse it on this one. They
  /// cost little.
  virtual bool may_bind(PodState& state) const = 0;
  virtual bool may_refuse(PodState& state, Row row) const = 0;
  /// The memory nodes of the row's machine.
  virtual NumaMask nodes(Row row) const = 0;
  /// place(), with what the pod itself is bound to besides what all of its class are. Absent: `why` says it.
  virtual std::optional<NumaMask> place_with(PodState& state, const NodeView& view,
                                             std::span<const NumaHintList> more,
                                             std::vector<std::string>& why) const = 0;
};

/// Has hints that follow from the single pod, not from its class (from its claims).
class PodNumaHints {
 public:
  virtual ~PodNumaHints() = default;
  /// In Reserve: appends a list for each resource, of the pod that is tried, on its row.
  virtual void pod_numa_hints(PodAttempt& attempt, std::vector<NumaHintList>& out) const = 0;
};

/// Of all profiles (SharedParts); a profile is known by its NumaHints, and has one at most.
class NumaDeciders {
 public:
  void add(const NumaHints* profile, NumaDecider& decider) { deciders_.emplace_back(profile, &decider); }
  void add(const NumaHints* profile, PodNumaHints& hints) { of_pods_.emplace_back(profile, &hints); }
  /// What the profile's plugins say of the single pod.
  std::vector<NumaHintList> of_pod(const NumaHints* profile, PodAttempt& attempt) const {
    std::vector<NumaHintList> lists;
    for (const auto& [of, hints] : of_pods_)
      if (of == profile) hints->pod_numa_hints(attempt, lists);
    return lists;
  }
  /// nullptr: the profile has none.
  NumaDecider* of(const NumaHints* profile) const {
    for (const auto& [of, decider] : deciders_)
      if (of == profile) return decider;
    return nullptr;
  }

 private:
  std::vector<std::pair<const NumaHints*, NumaDecider*>> deciders_;
  std::vector<std::pair<const NumaHints*, PodNumaHints*>> of_pods_;
};

}  // namespace koord::scheduling
