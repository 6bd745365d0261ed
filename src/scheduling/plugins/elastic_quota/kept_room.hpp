// KeptRoom: what of quotas is kept for gangs whose victims are on their way.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/scheduling/cluster/nominator.hpp"
#include "scheduling/plugins/elastic_quota/book.hpp"

namespace koord::scheduling::elastic_quota {

/// Victims go one after the other, and whoever waits for their quota, such as the pods that were made in
/// their place, would have what the first leave before a gang fits as a whole. As a node's room is for those
/// who are nominated to it, what the gang asks for is kept from pods that are not more important, for as long
/// as its pods are nominated. One for all profiles. Belongs to the engine's thread.
class KeptRoom {
 public:
  /// How often it is looked whether nominations have gone, at most.
  static constexpr nanoseconds kLookEvery = std::chrono::seconds(1);

  KeptRoom(QuotaBook& book, const Nominator& nominator) : book_(book), nominator_(nominator) {}

  /// In place of what was kept for the group. All of its pods, of which those count that are nominated.
  void keep(const std::string& group, std::span<const std::shared_ptr<const api::Pod>> pods);
  /// What of the quota is kept from the pod, each resource once; nothing is kept from the group's own pods.
  Amounts kept_from(const PodInfo& pod, QuotaBook::Place place) const;

  // As a TimedPlugin's.
  std::optional<WallTime> next_time() const;
  /// The quotas of which something is not kept any more.
  std::set<std::string> time_passed(WallTime now);

 private:
  struct Group {
    std::vector<PodInfo> pods;  // who they are, and no more
    std::set<std::string> uids, quotas;
  };
  bool is_nominated(const PodInfo& pod) const { return nominator_.row_of(pod) != kNoRow; }

  QuotaBook& book_;
  const Nominator& nominator_;
  std::map<std::string, Group> groups_;
  WallTime looked_{};
};

}  // namespace koord::scheduling::elastic_quota
