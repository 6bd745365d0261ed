// GangPlugin: the points of the cycle; see gang_plugin.hpp. How a group is placed is in placing.cpp.
#include "scheduling/gangs/gang_plugin.hpp"

#include <algorithm>
#include <utility>

#include "koord/api/types/core_v1/pod.hpp"
#include "scheduling/gangs/explain.hpp"

namespace koord::scheduling::gangs {

GangPlugin::GangPlugin(GangBook& book, const PluginContext& context)
    : cycle_(context.cycle),
      book_(book),
      doors_(context.shared.get<Doors>()),
      index_(context.index),
      tells_(!book.has_teller()),
      nodes_(context.nodes) {
  book_.is_told();
}

// The queue

bool GangPlugin::may_enqueue(const PodInfo& pod) const {
  if (in_two(pod)) return false;
  Member* const member = book_.member(*pod.pod);
  if (member == nullptr || !is_held(*member)) return true;
  Group& group = *member->gang->group;
  if (!member->gang->known || !group.complete()) {
    if (group.representative == member->key) book_.drop_representative(group);
    return false;
  }
  if (!member->gang->strict || group.one_by_one) return true;
  // It is somebody else's to keep it out, and the group does not wait for it.
  if (!pod.pod->spec.scheduling_gates.empty() || pod.pod->metadata.deletion_timestamp) return true;
  return GangBook::represents(*member);
}

std::string GangPlugin::why_kept_out(const PodInfo& pod) const {
  if (in_two(pod)) return told_of_two(*pod.pod);
  const Member* const member = book_.member(*pod.pod);
  if (member == nullptr) return {};
  const Group& group = *member->gang->group;
  if (!group.complete()) return book_.is_patient(group) ? std::string() : book_.lack(group, *member);
  if (group.told.empty()) return {};
  return fit_error({.nodes = nodes_.nodes(),
                    .prefilter_message = group.told,
                    .postfilter_message = group.told_of_victims});
}

bool GangPlugin::is_unschedulable(const PodInfo& pod) const {
  const Member* const member = book_.member(*pod.pod);
  return member != nullptr && member->gang->group->complete();
}

Symbol GangPlugin::kept_out_by(const PodInfo& pod) const {
  const Member* const member = book_.member(*pod.pod);
  return member != nullptr ? member->gang->group->key : Symbol();
}

void GangPlugin::all_synced() {
  if (tells_) book_.hurry_all();
}

// The cycle

Status GangPlugin::admit(const PodInfo& pod) {
  if (placing_) return {};
  if (in_two(pod)) return {StatusCode::unresolvable, told_of_two(*pod.pod)};
  const Member* const member = book_.member(*pod.pod);
  if (member == nullptr || !is_held(*member)) return {};
  const Group& group = *member->gang->group;
  if (member->gang->known && group.complete()) return {};
  return {StatusCode::unresolvable, book_.lack(group, *member), group.key};
}

Symbol GangPlugin::job_of(const PodInfo& pod) const {
  const Member* const member = book_.member(*pod.pod);
  return member != nullptr ? member->gang->group->job : Symbol();
}

Status GangPlugin::reserve(PodAttempt& attempt) {
  const Member* const member = book_.member(*attempt.pod.pod);
  if (member == nullptr) return {};
  book_.reserve(*attempt.pod.pod, attempt.node);
  Group& group = *member->gang->group;
  if (std::exchange(group.gave_up, false) && is_held(*member)) book_.changed(group);
  return {};
}

/// Also of pods that found a place in a trial and lose it again: of them nothing follows.
void GangPlugin::unreserve(PodAttempt& attempt) {
  const api::Pod& pod = *attempt.pod.pod;
  Member* const member = book_.member(pod);
  if (member == nullptr) return;
  const bool decided = member->decided != 0;
  book_.unreserve(pod);
  if (placing_) return;
  if (decided) book_.hurry(*member);
  if (!is_held(*member)) return;
  const std::string why = member->gang->strict ? book_.given_up(*member->gang, pod) : std::string();
  if (why.empty())
    member->gang->group->gave_up = true;
  else
    cycle_.reject_all(book_.key(*member->gang->group), why, Nomination::keep);
}

PermitPlugin::Answer GangPlugin::permit(PodAttempt& attempt) {
  Member* const member = book_.member(*attempt.pod.pod);
  if (member == nullptr) return {};
  Gang& gang = *member->gang;
  Group& group = *gang.group;
  if (!gang.is_free()) {
    if (!book_.valid(group)) {
      book_.waits(*member);
      if (book_.hurries_others())
        for (const Member* other : book_.pending(group)) cycle_.activate(*other->pod);
      return {{StatusCode::wait, {}, group.key}, book_.wait_of(gang), true};
    }
    if (member->decided == 0) decide(group);
  }
  cycle_.allow_all(book_.key(group));
  return {};
}

/// Those that are assumed now are bound together. Who comes while they are on their way is none of them, and
/// goes alone.
void GangPlugin::decide(const Group& group) {
  const std::vector<Member*> members = book_.assumed(group);
  const bool on_their_way =
      std::ranges::any_of(members, [](const Member* member) { return member->decided != 0; });
  for (Member* member : members)
    if (member->decided == 0) book_.decided(*member, on_their_way ? 1 : members.size());
}

// Events

EventMask GangPlugin::events() const {
  return events_of(EventKind::plugin_told, EventKind::own_pod_label, EventKind::own_pod_update);
}

bool GangPlugin::concerns(const PodInfo& pod, const ClusterEvent& event) const {
  if (event.kind != EventKind::plugin_told || event.about.key.empty()) return true;
  const Member* const member = book_.member(*pod.pod);
  if (member == nullptr || member->gang->group->key == event.about.key) return true;
  // Its gang is in another group than when it was kept out.
  const auto queued = cycle_.queued(*pod.pod);
  return queued && queued->place == Place::gated;
}

/// The one that failed knows why.
bool GangPlugin::worth_retrying(const PodInfo& pod, const ClusterEvent& event) const {
  if (event.kind != EventKind::plugin_told || event.object_label != GangBook::kTold) return true;
  const Member* const member = book_.member(*pod.pod);
  return member == nullptr || member->gang->group->representative != member->key;
}

std::optional<WallTime> GangPlugin::next_time() const { return tells_ ? book_.next_time() : std::nullopt; }
void GangPlugin::time_passed(WallTime, const std::function<void(const ClusterEvent&)>&) {
  if (tells_) book_.time_passed();
}

void GangPlugin::pod_seen(const std::shared_ptr<const api::Pod>& pod) {
  if (tells_) book_.pod_seen(pod);
}
void GangPlugin::pod_left(const api::Pod& pod) {
  if (tells_) book_.pod_left(pod);
}

/// The book has it for as long as it is asked about.
AdmitExplainPlugin::Admission GangPlugin::explain_admission(const PodInfo& pod) {
  book_.pod_seen(pod.pod);
  const Member* const member = book_.member(*pod.pod);
  Admission said;
  if (member != nullptr) said = explain(book_, *member);
  book_.pod_left(*pod.pod);
  return said;
}

/// What became of it in this attempt.
std::vector<std::string> GangPlugin::explain_attempt(const PodInfo& pod) {
  const Member* const member = book_.member(*pod.pod);
  return member != nullptr ? member->gang->group->tried : std::vector<std::string>();
}

}  // namespace koord::scheduling::gangs
