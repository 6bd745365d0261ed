// KeptRoom: see kept_room.hpp.
#include "scheduling/plugins/elastic_quota/kept_room.hpp"

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"
#include "scheduling/plugins/elastic_quota/check.hpp"

namespace koord::scheduling::elastic_quota {

void KeptRoom::keep(const std::string& group, std::span<const std::shared_ptr<const api::Pod>> pods) {
  Group& now = groups_[group] = {};
  for (const auto& pod : pods) {
    PodInfo& who = now.pods.emplace_back();
    who.pod = pod;
    who.priority = pod->spec.priority.value_or(0);
    now.uids.insert(pod->metadata.uid);
    if (const QuotaBook::Place place = book_.place_of(*pod); place.tree != nullptr)
      now.quotas.insert(place.tree->name(place.quota));
  }
}

Amounts KeptRoom::kept_from(const PodInfo& pod, QuotaBook::Place place) const {
  Amounts kept;
  if (groups_.empty()) return kept;
  const std::string& quota = place.tree->name(place.quota);
  for (const auto& [name, group] : groups_) {
    if (!group.quotas.contains(quota) || group.uids.contains(pod.pod->metadata.uid)) continue;
    for (const PodInfo& other : group.pods) {
      if (other.priority < pod.priority || !is_nominated(other) || book_.place_of(*other.pod) != place)
        continue;
      for (const Amount& amount : book_.requests(*other.pod)) add(kept, amount);
    }
  }
  return kept;
}

std::optional<WallTime> KeptRoom::next_time() const {
  if (groups_.empty()) return std::nullopt;
  return looked_ + kLookEvery;
}

std::set<std::string> KeptRoom::time_passed(WallTime now) {
  looked_ = now;
  std::set<std::string> quotas;
  std::erase_if(groups_, [&](const auto& entry) {
    const Group& group = entry.second;
    const auto left =
        std::ranges::count_if(group.pods, [&](const PodInfo& pod) { return is_nominated(pod); });
    if (left != 0) return false;
    quotas.insert(group.quotas.begin(), group.quotas.end());
    return true;
  });
  return quotas;
}

}  // namespace koord::scheduling::elastic_quota
