// WaitingGroups: see waiting_groups.hpp.
#include "koord/scheduling/queue/waiting_groups.hpp"

#include <algorithm>

#include "koord/scheduling/config/profile.hpp"

namespace koord::scheduling {

void WaitingGroups::add(QueuedPod& pod) {
  const auto [it, added] = rejected_.try_emplace(by(pod));
  if (added)
    for (const auto& e : pod.profile->events)
      if ((pod.rejectors & mask_of(e.index)) != 0) {
        it->second.events |= e.plugin->events();
        it->second.of_pods |= e.plugin->events_of_pods();
      }
  Group& group = it->second.groups[pod.cls];
  pod.group_position = static_cast<std::uint32_t>(group.size());
  group.push_back(&pod);
}

void WaitingGroups::remove(QueuedPod& pod) {
  const auto rejected = rejected_.find(by(pod));
  const auto it = rejected->second.groups.find(pod.cls);
  Group& group = it->second;
  group[pod.group_position] = group.back();
  group[pod.group_position]->group_position = pod.group_position;
  group.pop_back();
  if (!group.empty()) return;
  rejected->second.groups.erase(it);
  if (rejected->second.groups.empty()) rejected_.erase(rejected);
}

std::vector<std::pair<QueuedPod*, Hint>> WaitingGroups::worth(EventKind kind, const Worth& ask) const {
  std::vector<std::pair<QueuedPod*, Hint>> pods;
  for (const auto& [key, rejected] : rejected_) {
    if (!rejected.events.has(kind)) continue;
    const bool each = rejected.of_pods.has(kind);
    for (const auto& [cls, group] : rejected.groups) {
      Hint hint = Hint::skip;
      for (QueuedPod* pod : group) {
        if (each || pod == group.front()) hint = ask(*pod);
        if (hint != Hint::skip) {
          pods.emplace_back(pod, hint);
        } else if (!each) {
          break;
        }
      }
    }
  }
  // Decisions must not depend on where things lie in memory.
  std::sort(pods.begin(), pods.end(),
            [](const auto& a, const auto& b) { return a.first->order < b.first->order; });
  return pods;
}

}  // namespace koord::scheduling
