// WaitingGroups: unschedulable pods by what they wait for.
#pragma once

#include <functional>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/scheduling/queue/queued_pod.hpp"

namespace koord::scheduling {

/// What an event means to a rejected pod.
enum class Hint : std::uint8_t {
  skip,
  queue,      // after its backoff
  queue_now,  // a plugin that it was pending for is through with it
};

/// Pods of one class that the same plugins rejected, with the same key if there is one, get the same answer
/// to an event: they are a group, and one of them is asked for all (each of them where a plugin says so:
/// EventPlugin::events_of_pods()). Holds pointers; a pod is taken out before it goes, and before its class,
/// its rejectors or their key change. An event costs the groups, not the pods, and of these those alone whose
/// rejectors have a say about events of its kind; one that is about a key costs that key's groups.
class WaitingGroups {
 public:
  void add(QueuedPod& pod);
  void remove(QueuedPod& pod);

  /// What is to become of a pod, or of the pods of its group.
  using Worth = std::function<Hint(const QueuedPod&)>;
  /// The pods of the groups that are worth another attempt, in the order in which they came. They stay in.
  std::vector<std::pair<QueuedPod*, Hint>> worth(const ClusterEvent& event, const Worth& ask) const;

 private:
  using Group = std::vector<QueuedPod*>;
  using Groups = std::unordered_map<const PodClass*, Group>;
  using Found = std::vector<std::pair<QueuedPod*, Hint>>;
  /// The groups of a profile whose pods the same plugins rejected.
  struct Rejected {
    EventMask events;                           // that any of the plugins asks for
    EventMask of_pods;                          // of them those of which each pod is asked
    std::unordered_map<Symbol, Groups> groups;  // by key; most have none
  };
  using By = std::tuple<const Profile*, PluginMask, PluginMask>;  // rejectors, and those that said pending
  static By by(const QueuedPod& pod) { return {pod.profile, pod.rejectors, pod.pending}; }

  static bool is_by(const By& by, std::string_view plugin);
  static void look_at(const Groups& groups, bool each, const Worth& ask, Found& found);

  std::map<By, Rejected> rejected_;
};

}  // namespace koord::scheduling
