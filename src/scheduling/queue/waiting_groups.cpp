// WaitingGroups: see waiting_groups.hpp.
#include "koord/scheduling/queue/waiting_groups.hpp"

#include <algorithm>
#include <bit>

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
  Group& group = it->second.groups[pod.rejector_key][pod.cls];
  pod.group_position = static_cast<std::uint32_t>(group.size());
  group.push_back(&pod);
}

void WaitingGroups::remove(QueuedPod& pod) {
  const auto rejected = rejected_.find(by(pod));
  const auto of_key = rejected->second.groups.find(pod.rejector_key);
  const auto it = of_key->second.find(pod.cls);
  Group& group = it->second;
  group[pod.group_position] = group.back();
  group[pod.group_position]->group_position = pod.group_position;
  group.pop_back();
  if (!group.empty()) return;
  of_key->second.erase(it);
  if (of_key->second.empty()) rejected->second.groups.erase(of_key);
  if (rejected->second.groups.empty()) rejected_.erase(rejected);
}

bool WaitingGroups::is_by(const By& by, std::string_view plugin) {
  const auto& [profile, rejectors, pending] = by;
  for (PluginMask left = rejectors; left != 0; left &= left - 1)
    if (profile->plugin_name(static_cast<PluginIndex>(std::countr_zero(left))) == plugin) return true;
  return false;
}

void WaitingGroups::look_at(const Groups& groups, bool each, const Worth& ask, Found& found) {
  for (const auto& [cls, group] : groups) {
    Hint hint = Hint::skip;
    for (QueuedPod* pod : group) {
      if (each || pod == group.front()) hint = ask(*pod);
      if (hint != Hint::skip) {
        found.emplace_back(pod, hint);
      } else if (!each) {
        break;
      }
    }
  }
}

std::vector<std::pair<QueuedPod*, Hint>> WaitingGroups::worth(const ClusterEvent& event,
                                                              const Worth& ask) const {
  Found pods;
  const RejectorKey& about = event.about;
  for (const auto& [by, rejected] : rejected_) {
    if (!rejected.events.has(event.kind)) continue;
    if (!about.plugin.empty() && !is_by(by, about.plugin)) continue;
    const bool each = rejected.of_pods.has(event.kind);
    if (about.key.empty()) {
      for (const auto& [key, groups] : rejected.groups) look_at(groups, each, ask, pods);
      continue;
    }
    for (const Symbol& key : {about.key, Symbol()})
      if (const auto groups = rejected.groups.find(key); groups != rejected.groups.end())
        look_at(groups->second, each, ask, pods);
  }
  // Decisions must not depend on where things lie in memory.
  std::sort(pods.begin(), pods.end(),
            [](const auto& a, const auto& b) { return a.first->order < b.first->order; });
  return pods;
}

}  // namespace koord::scheduling
