// GangPlugin: a group of gangs is placed as one; see gang_plugin.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "scheduling/gangs/gang_plugin.hpp"
#include "scheduling/preemption/clearing.hpp"

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
  std::size_t members() const { return members_.size(); }
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

/// Of a group of which too few have a place in the trial. What the others are told of it, in Koordinator's
/// words.
std::string GangPlugin::make_room(const Group& group, Placing& placing, Placements& places) {
  const api::Pod& trigger = *placing.failed()->pod;
  const PodAttempt* const attempt = places.ask(trigger);
  preemption::Preemptor* const by = attempt != nullptr ? preemptor(attempt->profile) : nullptr;
  if (by == nullptr) return {};
  const PodInfo& first = attempt->pod;
  const std::vector<Member*> members = placing.without_place();
  std::vector<const api::Pod*> pods;
  pods.reserve(members.size());
  for (const Member* member : members) pods.push_back(member->pod.get());
  const Placements::Mark placed = places.mark();
  PostFilterResult result;
  std::string why;
  for (const bool all : {true, false}) {
    preemption::Clearing clearing(*by, places, placing.lowest_priority());
    std::string no = clearing.not_eligible(trigger, pods);
    const bool eligible = no.empty();
    if (eligible && placing.clear(clearing, members, all)) {
      result = clearing.preempt(trigger, group.id);
      why = fmt::format("preempt success, alreadyWaitingForBound: {}/{}", placed, placing.members());
      break;
    }
    if (eligible && all) no = clearing.why();
    places.roll_back(placed);
    if (!all) break;
    why = no;
    result = {.status = {StatusCode::unschedulable, no.empty() ? no : "preemption: " + no},
              .preemption = {.tried = true}};
    if (!eligible) {
      if (Symbol node = by->nomination(first); !node.empty()) result.nominate = node;
      break;
    }
    result.nominate = Symbol();
    if (placing.needs_all(members)) break;
  }
  if (!result.status.ok() && result.nominate == Symbol()) {
    // What they were nominated to before helps nobody.
    places.roll_back(0);
    for (const Member* member : book_.pending(group))
      if (const PodInfo* const known = places.find(*member->pod);
          known != nullptr && member->pod.get() != &trigger && !by->nomination(*known).empty())
        result.preemption.nominations.push_back({member->pod, Symbol()});
  }
  std::string others;
  if (!why.empty())
    others = fmt::format("preemption: preemption already attempted by {} with message {}",
                         text(placed_name(trigger)), why);
  places.answer(std::move(result), others);
  return others;
}

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
  std::string victims;
  if (!enough && !placing.by_itself() && placing.failed() != nullptr)
    victims = make_room(group, placing, places);
  if (!enough || !placing.leads()) places.roll_back(0);
  placing_ = false;
  if (placing.by_itself()) {
    group.one_by_one = true;
    book_.changed(group);
    return {StatusCode::skip, {}};
  }
  if (!enough || !placing.leads()) {
    if (placing.failed() == nullptr) return {StatusCode::error, "the pod is not of those that wait"};
    Status status = refused(group, *placing.failed(), placing.why(), placing.before(), std::move(victims));
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
  group.told_of_victims.clear();
  book_.wake(group);
}

/// The member for which there was no place stands for the group the next time.
Status GangPlugin::refused(Group& group, const Member& by, const std::string& why, std::size_t placed,
                           std::string victims) {
  std::string all = book_.rejection(group, *by.pod, why, placed);
  group.representative = by.key;
  book_.failed(group, all, std::move(victims));
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
