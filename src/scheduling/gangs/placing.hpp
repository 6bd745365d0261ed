// GangPlugin::Placing: one trial of a group of gangs, member after member; and what making room for it needs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/cycle_plugin.hpp"
#include "scheduling/gangs/gang_plugin.hpp"
#include "scheduling/preemption/clearing.hpp"

namespace koord::scheduling::gangs {

/// Who looks for victims for the group.
struct GangPlugin::Room {
  preemption::Preemptor& by;
  const Profile& profile;
  bool says = true;  // people are told why there is no room
};

/// What came of it.
struct GangPlugin::Cleared {
  std::optional<PostFilterResult> made = {};  // absent: there is no room
  std::string why = {};
  bool eligible = true;    // false: the group preempts nobody now, whoever looks
  std::size_t before = 0;  // so many had a place that they keep
};

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

  /// Those that have no place, in their order, but the first that found none before all.
  std::vector<Member*> without_place() const {
    std::set<std::string_view> have;
    for (const Placements::At& place : places_.places()) have.insert(place.pod->pod->metadata.uid);
    std::vector<Member*> others;
    for (Member* member : members_)
      if (!have.contains(member->pod->metadata.uid)) others.push_back(member);
    std::ranges::stable_partition(others, [&](const Member* member) { return member == failed_; });
    return others;
  }
  /// Gives them places that others leave: all of them, or as many as gangs need. False: there is no room.
  bool clear(preemption::Clearing& clearing, const std::vector<Member*>& members, bool all) const {
    std::vector<Need> needs = needs_;
    for (Need& need : needs) need.untried = 0;
    const auto of = [&](const Member* member) -> Need& {
      return *std::ranges::find(needs, member->gang, &Need::gang);
    };
    for (const Member* member : members) ++of(member).untried;
    for (const Member* member : members) {
      Need& need = of(member);
      --need.untried;
      if (!all && need.left <= 0) continue;
      if (clearing.place(*member->pod)) {
        --need.left;
      } else if (all || need.left > static_cast<std::int64_t>(need.untried)) {
        return false;
      }
    }
    return true;
  }
  /// No gang gets what it needs without one of these.
  bool needs_all(const std::vector<Member*>& members) const {
    return std::ranges::none_of(needs_, [&](const Need& need) {
      return need.left < std::ranges::count(members, need.gang, &Member::gang);
    });
  }
  /// All that wait for a node.
  const std::vector<Member*>& all() const { return members_; }
  std::int32_t lowest_priority() const {
    return priority(**std::ranges::min_element(members_, {}, [](const Member* m) { return priority(*m); }));
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
  /// A gang that has what it needs gets no more members after so many in a row found no place.
  static constexpr std::size_t kMisses = 16;
  static std::int32_t priority(const Member& member) { return member.pod->spec.priority.value_or(0); }
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

}  // namespace koord::scheduling::gangs
