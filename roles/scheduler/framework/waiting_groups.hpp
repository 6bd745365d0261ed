// WaitingGroups: unschedulable pods by what they wait for.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/queued_pod.hpp"

namespace koord::scheduler {

/// Pods of one class that the same plugins rejected get the same answer to an event: they are a group, and
/// one of them is asked for all. Holds pointers; a pod is taken out before it goes, and before its class or
/// its rejectors change. An event costs the groups, not the pods, and of these those alone whose rejectors
/// have a say about events of its kind.
class WaitingGroups {
 public:
  void add(QueuedPod& pod);
  void remove(QueuedPod& pod);

  /// Whether the pods of a group, of which it is given one, are worth another attempt.
  using Worth = std::function<bool(const QueuedPod&)>;
  /// The pods of the groups that are, in the order in which they came. They stay in.
  std::vector<QueuedPod*> worth(EventKind kind, const Worth& ask) const;

 private:
  using Group = std::vector<QueuedPod*>;
  /// The groups of a profile whose pods the same plugins rejected.
  struct Rejected {
    EventMask events = 0;  // that any of the plugins asks for
    std::unordered_map<const PodClass*, Group> groups;
  };
  std::map<std::pair<const Profile*, PluginMask>, Rejected> rejected_;
};

}  // namespace koord::scheduler
