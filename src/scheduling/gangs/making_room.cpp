// GangPlugin: who goes for a group of gangs that finds no place; see gang_plugin.hpp.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "scheduling/gangs/placing.hpp"
#include "scheduling/preemption/room_beside.hpp"

namespace koord::scheduling::gangs {

namespace {

std::vector<const api::Pod*> pods_of(const std::vector<Member*>& members) {
  std::vector<const api::Pod*> pods;
  pods.reserve(members.size());
  for (const Member* member : members) pods.push_back(member->pod.get());
  return pods;
}

}  // namespace

/// In the order of the profile's PostFilter. Of a pod that is not admitted it is its quota's to say; where it
/// is a node that refuses, those of its quota go if that comes before anybody else's.
std::vector<GangPlugin::Room> GangPlugin::rooms(const Profile& profile, bool admitted) {
  std::vector<Room> all;
  bool asked = false;  // at PostFilter
  for (const auto& p : profile.post_filters) asked = asked || p.index == index_;
  preemption::Preemptor* own = asked && admitted ? preemptor() : nullptr;
  for (const auto& p : profile.post_filters) {
    if (auto* const beside = dynamic_cast<preemption::RoomBeside*>(profile.plugins[p.index].plugin.get())) {
      if (!admitted || all.empty()) all.push_back({beside->preemptor(), profile, !admitted});
    } else if (own != nullptr && (preempts_itself() ? p.index == index_
                                                    : profile.plugin_name(p.index) == "DefaultPreemption")) {
      all.push_back({*std::exchange(own, nullptr), profile});
    }
  }
  return all;
}

/// Beside what has a place: for all members, or for as many as gangs need.
GangPlugin::Cleared GangPlugin::clear(const Room& room, const Group& group, Placing& placing,
                                      Placements& places) {
  const api::Pod& trigger = *placing.failed()->pod;
  const std::vector<Member*> members = placing.without_place();
  const Placements::Mark placed = places.mark();
  Cleared cleared;
  for (const bool all : {true, false}) {
    preemption::Clearing clearing(room.by, places, room.profile, placing.lowest_priority());
    if (std::string no = clearing.not_eligible(trigger, pods_of(members)); !no.empty())
      return {{}, std::move(no), false};
    if (placing.clear(clearing, members, all)) {
      cleared.made = clearing.preempt(trigger, group.id);
      cleared.before = placed;
      if (cleared.made) return cleared;
    }
    if (all) cleared.why = clearing.why();
    places.roll_back(placed);
    if (placing.needs_all(members)) break;
  }
  return cleared;
}

/// In the group's own way, in a cluster without all that may go for it.
GangPlugin::Cleared GangPlugin::clear_and_gather(const Room& room, Group& group, Member& leader,
                                                 const Member& failed, Placing& placing, Placements& places) {
  places.roll_back(0);
  const std::vector<const api::Pod*> pods = pods_of(placing.all());
  preemption::Clearing clearing(room.by, places, room.profile, placing.lowest_priority());
  if (std::string no = clearing.not_eligible(*failed.pod, pods); !no.empty())
    return {{}, std::move(no), false};
  Cleared cleared;
  const auto fits = [&] {
    const std::optional<Gathered> gathered = gather(group, leader, places, clearing.costs());
    if (gathered->status.ok()) return true;
    cleared.why = gathered->status.message;
    places.roll_back(0);
    return false;
  };
  if (!room.says || !clearing.free_all(pods) || !fits()) {
    clearing.open_all(pods);
    if (!clearing.is_open()) return {{}, clearing.why()};
    if (!fits()) return cleared;
  }
  cleared.made = clearing.preempt(*failed.pod, group.id);
  places.roll_back(0);
  return cleared;
}

/// For a group of which `failed` was the first to find no place. What the others are told of it, in
/// Koordinator's words.
std::string GangPlugin::make_room(const Group& group, const Member& failed, const Placing& placing,
                                  Placements& places, const std::function<Cleared(const Room&)>& clear) {
  const api::Pod& trigger = *failed.pod;
  const bool admitted = places.ask(trigger) != nullptr;
  const PodAttempt* const attempt = places.ask_of_nodes(trigger);
  if (attempt == nullptr) return {};
  const PodInfo& first = attempt->pod;
  const std::vector<Room> all = rooms(attempt->profile, admitted);
  if (all.empty()) return {};
  PostFilterResult result{
      .status = {StatusCode::unschedulable, {}}, .nominate = Symbol(), .preemption = {.tried = true}};
  std::vector<std::string> whys;
  std::string told;
  for (const Room& room : all) {
    Cleared cleared = clear(room);
    if (cleared.made) {
      result = *std::move(cleared.made);
      std::vector<std::shared_ptr<const api::Pod>> pods;
      for (const Member* member : placing.all()) pods.push_back(member->pod);
      for (const auto& p : room.profile.admits)
        if (auto* const beside =
                dynamic_cast<preemption::RoomBeside*>(room.profile.plugins[p.index].plugin.get()))
          beside->keep_for(group.id, pods);
      told =
          fmt::format("preempt success, alreadyWaitingForBound: {}/{}", cleared.before, placing.all().size());
      break;
    }
    if ((room.says || !cleared.eligible) && !cleared.why.empty()) whys.push_back(std::move(cleared.why));
    if (cleared.eligible) continue;
    result.nominate.reset();
    if (Symbol node = room.by.nomination(first); !node.empty()) result.nominate = node;
    break;
  }
  if (!result.status.ok()) {
    told = fmt::format("{}", fmt::join(whys, ", "));
    if (!told.empty()) result.status.message = "preemption: " + told;
  }
  if (!result.status.ok() && result.nominate == Symbol()) {
    // What they were nominated to before helps nobody.
    places.roll_back(0);
    for (const Member* member : book_.pending(group))
      if (const PodInfo* const known = places.find(*member->pod);
          known != nullptr && member->pod.get() != &trigger && !all.front().by.nomination(*known).empty())
        result.preemption.nominations.push_back({member->pod, Symbol()});
  }
  std::string others;
  if (!told.empty())
    others = fmt::format("preemption: preemption already attempted by {} with message {}",
                         text(placed_name(trigger)), told);
  places.answer(std::move(result), others);
  return others;
}

}  // namespace koord::scheduling::gangs
