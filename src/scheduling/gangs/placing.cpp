// GangPlugin: a group of gangs is placed as one; see gang_plugin.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "koord/api/types/core_v1/pod.hpp"
#include "scheduling/gangs/gang_plugin.hpp"

namespace koord::scheduling::gangs {

namespace {

/// A gang that has what it needs gets no more members after so many in a row found no place.
constexpr std::size_t kMisses = 16;

std::int32_t priority(const Member& member) { return member.pod->spec.priority.value_or(0); }

}  // namespace

/// One trial: the leader first, then the others by priority, gang and name.
class GangPlugin::Placing {
 public:
  Placing(GangBook& book, const Group& group, Member& leader, Placements& places)
      : leader_(leader), places_(places), members_(book.pending(group)) {
    for (const std::string& id : group.gangs)
      if (const Gang* gang = book.find(id)) needs_.push_back({gang, gang->needs(), gang->pending.size()});
    std::ranges::stable_sort(members_, [&](const Member* a, const Member* b) {
      if ((a == &leader) != (b == &leader)) return a == &leader;
      return priority(*a) > priority(*b);
    });
  }

  /// The gang that has fewer members without a node than it needs; nullptr: none.
  const Gang* short_of_members() const {
    for (const Need& need : needs_)
      if (need.left > static_cast<std::int64_t>(need.untried)) return need.gang;
    return nullptr;
  }

  /// False: some gang does not get what it needs.
  bool run() {
    for (Member* member : members_) {
      Need& need = *std::ranges::find(needs_, member->gang, &Need::gang);
      --need.untried;
      if (need.misses >= kMisses && need.left <= 0) continue;
      auto placed = places_.place(*member->pod);
      if (placed.row != kNoRow) {
        --need.left;
        need.misses = 0;
        if (first_ == nullptr) first_ = member;
        if (member == &leader_) leads_ = true;
        continue;
      }
      if (placed.status.code == StatusCode::skip) {
        by_itself_ = true;
        return false;
      }
      if (failed_ == nullptr) {
        failed_ = member;
        why_ = std::move(placed.status.message);
        before_ = places_.mark();
      }
      ++need.misses;
      if (need.left > static_cast<std::int64_t>(need.untried)) return false;
    }
    return true;
  }

  /// Of one of them it cannot be said here whether it has a place.
  bool by_itself() const { return by_itself_; }
  /// The leader has a place.
  bool leads() const { return leads_; }
  Member* first() const { return first_; }
  /// The first that found none, why, and how many had one by then.
  Member* failed() const { return failed_; }
  const std::string& why() const { return why_; }
  std::size_t before() const { return before_; }

 private:
  struct Need {
    const Gang* gang;
    std::int64_t left;
    std::size_t untried;
    std::size_t misses = 0;  // in a row
  };

  const Member& leader_;
  Placements& places_;
  std::vector<Member*> members_;
  std::vector<Need> needs_;
  bool leads_ = false, by_itself_ = false;
  Member* first_ = nullptr;
  Member* failed_ = nullptr;
  std::string why_;
  std::size_t before_ = 0;
};

bool GangPlugin::leads_group(const PodInfo& pod) const {
  const Member* const member = book_.member(*pod.pod);
  return member != nullptr && is_held(*member) && member->gang->known && member->gang->strict &&
         !member->gang->group->one_by_one;
}

Status GangPlugin::place_group(const PodInfo& pod, Placements& places) {
  Member& leader = *book_.member(*pod.pod);
  Group& group = *leader.gang->group;
  if (!group.complete()) {
    book_.drop_representative(group);
    return {StatusCode::unresolvable, book_.lack(group, leader), group.key};
  }
  Placing placing(book_, group, leader, places);
  if (const Gang* gang = placing.short_of_members()) {
    std::string why = fmt::format("gang {} needs {} more members at once, and has {} that wait for a node",
                                  gang->id, gang->needs(), gang->pending.size());
    book_.failed(group, why);
    return {StatusCode::unschedulable, std::move(why), group.key};
  }
  placing_ = true;
  std::optional<Gathered> gathered = gather(group, leader, places);
  placing_ = false;
  if (gathered) return settle(group, std::move(*gathered), places);
  placing_ = true;
  const bool enough = placing.run();
  const std::size_t placed = places.mark();
  if (!enough || !placing.leads()) places.roll_back(0);
  placing_ = false;
  if (placing.by_itself()) {
    group.one_by_one = true;
    book_.changed(group);
    return {StatusCode::skip, {}};
  }
  if (!enough || !placing.leads()) {
    if (placing.failed() == nullptr) return {StatusCode::error, "the pod is not of those that wait"};
    Status status = refused(group, *placing.failed(), placing.why(), placing.before());
    if (enough && placed > 0) {
      // The others fit: one of them leads next.
      group.representative = placing.first()->key;
      cycle_.activate(*placing.first()->pod);
    }
    return status;
  }
  this->placed(group);
  return {};
}

void GangPlugin::placed(Group& group) {
  decide(group);
  book_.drop_representative(group);
  group.failure.clear();
  group.told.clear();
  group.tried.clear();
  book_.waits_no_more(group);
  book_.wake(group);
}

/// The member for which there was no place stands for the group the next time.
Status GangPlugin::refused(Group& group, const Member& by, const std::string& why, std::size_t placed) {
  std::string all = book_.rejection(group, *by.pod, why, placed);
  group.representative = by.key;
  book_.failed(group, all);
  return {StatusCode::unschedulable, std::move(all), group.key};
}

/// What a front door has made of the group.
Status GangPlugin::settle(Group& group, Gathered gathered, Placements& places) {
  group.tried = std::move(gathered.tried);
  if (gathered.status.ok()) {
    placed(group);
    return {};
  }
  placing_ = true;
  places.roll_back(0);
  placing_ = false;
  if (gathered.status.code == StatusCode::skip) {
    group.one_by_one = true;
    book_.changed(group);
    return std::move(gathered.status);
  }
  if (!gathered.status.rejected()) return std::move(gathered.status);
  book_.waits_for_topology(group);
  Status status = refused(group, *gathered.failed, gathered.status.message, gathered.before);
  if (gathered.instead != nullptr) {
    group.representative = gathered.instead->key;
    cycle_.activate(*gathered.instead->pod);
  }
  return status;
}

}  // namespace koord::scheduling::gangs
