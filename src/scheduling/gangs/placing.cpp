// GangPlugin: a group of gangs is placed as one; see gang_plugin.hpp.
#include "scheduling/gangs/placing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling::gangs {

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
  const MonoTime start = book_.now();
  Status status = place(group, leader, placing, places);
  if (status.ok() || status.rejected())
    book_.measures().tried(status.ok(), placing.all().size(), book_.now() - start);
  return status;
}

/// All that its gangs need, or nobody.
Status GangPlugin::place(Group& group, Member& leader, Placing& placing, Placements& places) {
  placing_ = true;
  std::string victims;
  if (std::optional<Gathered> gathered = gather(group, leader, places, {})) {
    if (const Member* const failed = gathered->failed; gathered->status.rejected() && failed != nullptr &&
                                                       gathered->instead == nullptr && !gathered->hopeless)
      victims = make_room(group, *failed, placing, places, [&](const Room& room) {
        return clear_and_gather(room, group, leader, *failed, placing, places);
      });
    placing_ = false;
    return settle(group, std::move(*gathered), std::move(victims), places);
  }
  const bool enough = placing.run();
  const std::size_t placed = places.mark();
  if (!enough && !placing.by_itself() && placing.failed() != nullptr)
    victims = make_room(group, *placing.failed(), placing, places,
                        [&](const Room& room) { return clear(room, group, placing, places); });
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
Status GangPlugin::settle(Group& group, Gathered gathered, std::string victims, Placements& places) {
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
  Status status =
      refused(group, *gathered.failed, gathered.status.message, gathered.before, std::move(victims));
  if (gathered.instead != nullptr) {
    group.representative = gathered.instead->key;
    cycle_.activate(*gathered.instead->pod);
  }
  return status;
}

}  // namespace koord::scheduling::gangs
