// Coscheduling: the points of the cycle; see coscheduling.hpp. How a group is placed is in placing.cpp.
#include "scheduling/plugins/coscheduling/coscheduling.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/text.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "scheduling/plugins/coscheduling/control/controller.hpp"
#include "scheduling/plugins/coscheduling/describe.hpp"
#include "scheduling/plugins/coscheduling/explain.hpp"

namespace koord::scheduling {

namespace coscheduling {

namespace {

std::string in_quotes(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

}  // namespace

Coscheduling::Coscheduling(const CoschedulingArgs& args, const PluginContext& context)
    : book_(context.shared.get<GangBook>(context, args)),
      tells_(!book_.has_teller()),
      cycle_(context.cycle),
      nodes_(context.nodes),
      index_(context.index) {
  book_.is_told();
}

/// It waits for others of its gang, or they for it.
bool Coscheduling::is_held(const Member& member) const { return !member.gang->is_free(); }

// The queue

bool Coscheduling::may_enqueue(const PodInfo& pod) const {
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

std::string Coscheduling::why_kept_out(const PodInfo& pod) const {
  const Member* const member = book_.member(*pod.pod);
  if (member == nullptr) return {};
  const Group& group = *member->gang->group;
  if (!group.complete()) return book_.is_patient(group) ? std::string() : book_.lack(group, *member);
  if (group.told.empty()) return {};
  return fit_error({.nodes = nodes_.nodes(), .prefilter_message = group.told});
}

bool Coscheduling::is_unschedulable(const PodInfo& pod) const {
  const Member* const member = book_.member(*pod.pod);
  return member != nullptr && member->gang->group->complete();
}

Symbol Coscheduling::kept_out_by(const PodInfo& pod) const {
  const Member* const member = book_.member(*pod.pod);
  return member != nullptr ? member->gang->group->key : Symbol();
}

void Coscheduling::all_synced() {
  if (tells_) book_.hurry_all();
}

// The cycle

Status Coscheduling::admit(const PodInfo& pod) {
  if (placing_) return {};
  const Member* const member = book_.member(*pod.pod);
  if (member == nullptr || !is_held(*member)) return {};
  const Group& group = *member->gang->group;
  if (member->gang->known && group.complete()) return {};
  return {StatusCode::unresolvable, book_.lack(group, *member), group.key};
}

Symbol Coscheduling::job_of(const PodInfo& pod) const {
  const Member* const member = book_.member(*pod.pod);
  return member != nullptr ? member->gang->group->key : Symbol();
}

Status Coscheduling::reserve(PodAttempt& attempt) {
  const Member* const member = book_.member(*attempt.pod.pod);
  if (member == nullptr) return {};
  book_.reserve(*attempt.pod.pod);
  Group& group = *member->gang->group;
  if (std::exchange(group.gave_up, false) && is_held(*member)) book_.changed(group);
  return {};
}

/// Also of pods that found a place in a trial and lose it again: of them nothing follows.
void Coscheduling::unreserve(PodAttempt& attempt) {
  const api::Pod& pod = *attempt.pod.pod;
  Member* const member = book_.member(pod);
  if (member == nullptr) return;
  const bool decided = member->decided != 0;
  book_.unreserve(pod);
  if (placing_) return;
  if (decided) book_.hurry(*member);
  if (!is_held(*member)) return;
  if (!member->gang->strict)
    member->gang->group->gave_up = true;
  else
    cycle_.reject_all(book_.key(*member->gang->group),
                      fmt::format("Gang {} gets rejected due to Pod {} in Unreserve",
                                  in_quotes(member->gang->id), in_quotes(pod.metadata.name)),
                      Nomination::keep);
}

PermitPlugin::Answer Coscheduling::permit(PodAttempt& attempt) {
  const Member* const member = book_.member(*attempt.pod.pod);
  if (member == nullptr) return {};
  const Gang& gang = *member->gang;
  Group& group = *gang.group;
  if (!gang.is_free()) {
    if (!book_.valid(group)) return {{StatusCode::wait, {}, group.key}, gang.wait, true};
    if (member->decided == 0) decide(group);
  }
  cycle_.allow_all(book_.key(group));
  return {};
}

/// Those that are assumed now are bound together. Who comes while they are on their way is none of them, and
/// goes alone.
void Coscheduling::decide(const Group& group) {
  const std::vector<Member*> members = book_.assumed(group);
  const bool on_their_way =
      std::ranges::any_of(members, [](const Member* member) { return member->decided != 0; });
  for (Member* member : members)
    if (member->decided == 0) member->decided = on_their_way ? 1 : members.size();
}

void Coscheduling::change_pod(PodAttempt& attempt, PodChanges& changes) {
  const Member* const member = book_.member(*attempt.pod.pod);
  if (member == nullptr) return;
  for (const std::string_view key : {api::kBindGangGroupId, api::kOldBindGangGroupId}) {
    if (member->decided > 1)
      changes.annotations[key] = member->gang->group->id;
    else if (attempt.pod.pod->metadata.annotations.contains(key))
      changes.removed_annotations.emplace_back(key);
  }
  for (const std::string_view key : {api::kBindGangMemberCount, api::kOldBindGangMemberCount}) {
    if (member->decided > 1)
      changes.annotations[key] = std::to_string(member->decided);
    else if (attempt.pod.pod->metadata.annotations.contains(key))
      changes.removed_annotations.emplace_back(key);
  }
}

/// In Koordinator's words.
std::string Coscheduling::rejection(const Group& group, const api::Pod& pod, const std::string& why,
                                    std::size_t placed) const {
  return fmt::format(
      "GangGroup {} gets rejected due to member Pod {} is unschedulable with reason {}, alreadyWaitForBound: "
      "{}",
      in_quotes(group.id), in_quotes(text(placed_name(pod))), in_quotes(why), placed);
}

/// Of a pod that was tried by itself.
void Coscheduling::after_post_filter(const PodAttempt& attempt, const Diagnosis& diagnosis, const Status&) {
  const api::Pod& pod = *attempt.pod.pod;
  const Member* const member = book_.member(pod);
  if (member == nullptr || !is_held(*member) || !member->gang->strict) return;
  const Group& group = *member->gang->group;
  const RejectorKey key = book_.key(group);
  if (cycle_.waiting(key) == 0) return;
  Diagnosis nodes = diagnosis;
  nodes.postfilter_message.clear();
  cycle_.reject_all(key, rejection(group, pod, fit_error(nodes), cycle_.waiting(key)), Nomination::keep);
}

// Events

EventMask Coscheduling::events() const {
  return events_of(EventKind::plugin_told, EventKind::own_pod_label, EventKind::own_pod_update);
}

bool Coscheduling::concerns(const PodInfo& pod, const ClusterEvent& event) const {
  if (event.kind != EventKind::plugin_told || event.about.key.empty()) return true;
  const Member* const member = book_.member(*pod.pod);
  if (member == nullptr || member->gang->group->key == event.about.key) return true;
  // Its gang is in another group than when it was kept out.
  const auto queued = cycle_.queued(*pod.pod);
  return queued && queued->place == Place::gated;
}

/// The one that failed knows why.
bool Coscheduling::worth_retrying(const PodInfo& pod, const ClusterEvent& event) const {
  if (event.kind != EventKind::plugin_told || event.object_label != GangBook::kTold) return true;
  const Member* const member = book_.member(*pod.pod);
  return member == nullptr || member->gang->group->representative != member->key;
}

std::optional<WallTime> Coscheduling::next_time() const { return tells_ ? book_.next_time() : std::nullopt; }
void Coscheduling::time_passed(WallTime, const std::function<void(const ClusterEvent&)>&) {
  if (tells_) book_.time_passed();
}

void Coscheduling::pod_seen(const std::shared_ptr<const api::Pod>& pod) {
  if (tells_) book_.pod_seen(pod);
}
void Coscheduling::pod_left(const api::Pod& pod) {
  if (tells_) book_.pod_left(pod);
}

std::unique_ptr<PluginController> Coscheduling::make_controller(kube::InformerSet& informers,
                                                                kube::Client& client) {
  return coscheduling::make_controller(informers, client);
}

std::optional<ServiceAnswer> Coscheduling::serve(const ServiceRequest& request) const {
  return describe(book_, request.path);
}

/// The book has it for as long as it is asked about.
AdmitExplainPlugin::Admission Coscheduling::explain_admission(const PodInfo& pod) {
  book_.pod_seen(pod.pod);
  const Member* const member = book_.member(*pod.pod);
  Admission said;
  if (member != nullptr) said = explain(book_, *member);
  book_.pod_left(*pod.pod);
  return said;
}

}  // namespace coscheduling

extern const PluginEntry kCoscheduling{
    .name = "Coscheduling",
    .args = &args_type<coscheduling::CoschedulingArgs>,
    .make = &make_with<coscheduling::Coscheduling, coscheduling::CoschedulingArgs>};

}  // namespace koord::scheduling
