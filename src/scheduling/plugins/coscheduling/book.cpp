// GangBook: see book.hpp.
#include "scheduling/plugins/coscheduling/book.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"

namespace koord::scheduling::coscheduling {

namespace {

constexpr std::string_view kPod = "Pod", kPodGroup = "PodGroup";
constexpr std::string_view kTellsOthers = "GangPendingPodsConditionPatch";

/// So many of those that come first are looked at for one that can be tried.
constexpr std::size_t kLookAt = 32;

std::string gang_id(std::string_view ns, std::string_view name) { return fmt::format("{}/{}", ns, name); }

api::GangMatchPolicy policy_of(const CoschedulingArgs& args) {
  return args.default_match_policy == "only-waiting"          ? api::GangMatchPolicy::only_waiting
         : args.default_match_policy == "waiting-and-running" ? api::GangMatchPolicy::waiting_and_running
                                                              : api::GangMatchPolicy::once_satisfied;
}

bool can_be_tried(const api::Pod& pod) {
  return pod.spec.scheduling_gates.empty() && !pod.metadata.deletion_timestamp;
}

}  // namespace

GangBook::GangBook(const PluginContext& context, const CoschedulingArgs& args)
    : clock_(context.clock),
      cycle_(context.cycle),
      complaints_(context.shared.get<Complaints>()),
      plugin_(context.name),
      default_wait_(args.default_timeout ? args.default_timeout->value : std::chrono::minutes(10)),
      default_policy_(policy_of(args)),
      tells_others_(context.gates == nullptr || !context.gates->known(kTellsOthers) ||
                    context.gates->enabled(kTellsOthers)) {
  context.objects.watch<api::PodGroup>().on_change(
      [this](const api::PodGroup* before, const api::PodGroup* now) { pod_group_changed(before, now); });
}

// Gangs and groups

Gang* GangBook::find(std::string_view id) {
  const auto it = gangs_.find(id);
  return it != gangs_.end() ? it->second.get() : nullptr;
}

Gang& GangBook::gang(std::string_view ns, std::string_view name) {
  std::string id = gang_id(ns, name);
  if (Gang* known = find(id)) return *known;
  auto made = std::make_unique<Gang>();
  made->id = id;
  made->ns = ns;
  made->name = name;
  Gang& gang = *(gangs_[std::move(id)] = std::move(made));
  join(gang, {});
  return gang;
}

void GangBook::drop_if_empty(Gang& gang) {
  if (gang.children != 0 || gang.from_pod_group) return;
  gang.known = false;
  recount(gang);
  leave_group(gang);
  gangs_.erase(gangs_.find(gang.id));
}

Group& GangBook::group(std::vector<std::string> gangs, const std::string& id) {
  std::unique_ptr<Group>& group = groups_[id];
  if (group) return *group;
  group = std::make_unique<Group>();
  group->id = id;
  group->key = Symbol(id);
  group->gangs = std::move(gangs);
  for (const std::string& each : group->gangs) {
    listed_[each].insert(group.get());
    const Gang* const known = find(each);
    if (known == nullptr || !known->enough) ++group->lacking;
  }
  if (!group->complete()) lacks(*group);
  return *group;
}

/// Its pods that wait for the group that it was in wait for this one now.
void GangBook::join(Gang& gang, std::vector<std::string> groups) {
  if (groups.empty()) groups = {gang.id};
  std::string id = api::gang_group_id(groups);
  // Who does not name itself is meant, too.
  if (std::ranges::find(groups, gang.id) == groups.end()) {
    groups.push_back(gang.id);
    id = api::gang_group_id(groups);
  }
  std::ranges::sort(groups);
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  if (gang.group != nullptr && gang.group->id == id) return;
  Group& now = group(std::move(groups), id);
  if (gang.group != nullptr) {
    if (!gang.pending.empty()) changed(*gang.group);
    leave_group(gang);
  }
  gang.group = &now;
  ++now.users;
  if (gang.bound > 0) satisfy(now);
  wake(now);
}

void GangBook::leave_group(Gang& gang) {
  Group& group = *std::exchange(gang.group, nullptr);
  if (const auto it = members_.find(group.representative); it != members_.end() && it->second->gang == &gang)
    drop_representative(group);
  if (--group.users != 0) return wake(group);
  for (const std::string& each : group.gangs) {
    const auto it = listed_.find(each);
    it->second.erase(&group);
    if (it->second.empty()) listed_.erase(it);
  }
  groups_.erase(groups_.find(group.id));
}

void GangBook::lacks(Group& group) {
  group.lacks_since = clock_.mono();
  impatient_.emplace_back(group.lacks_since + kPatience, group.id);
}

/// Whether it has enough members may be otherwise now.
void GangBook::recount(Gang& gang) {
  const bool enough = gang.known && static_cast<std::int64_t>(gang.children) >= gang.min;
  if (gang.enough == enough) return;
  gang.enough = enough;
  const auto listed = listed_.find(gang.id);
  if (listed == listed_.end()) return;
  for (Group* group : listed->second) {
    if (!enough) {
      if (group->lacking++ == 0) lacks(*group);
    } else if (--group->lacking == 0) {
      wake(*group);
      if (!gang.strict || group->one_by_one) changed(*group);
    }
  }
}

std::optional<WallTime> GangBook::next_time() const {
  if (impatient_.empty()) return std::nullopt;
  return clock_.now() + (impatient_.front().first - clock_.mono());
}

void GangBook::time_passed() {
  for (const MonoTime now = clock_.mono(); !impatient_.empty() && impatient_.front().first <= now;) {
    const auto [due, id] = std::move(impatient_.front());
    impatient_.pop_front();
    const auto it = groups_.find(id);
    if (it == groups_.end() || it->second->complete() || it->second->lacks_since + kPatience != due) continue;
    cycle_.happened(key(*it->second), kTold);
  }
}

// What gangs say

void GangBook::read_terms(Gang& gang, const api::GangTerms& terms, const api::ObjectMeta& object,
                          std::string_view kind) {
  gang.known = true;
  gang.total = std::max(terms.total, gang.min);
  gang.strict = terms.strict;
  gang.policy = terms.match_policy.value_or(default_policy_);
  gang.created = object.creation_timestamp.wall();
  for (const std::string& line : api::gang_warnings(object)) complaints_.say(kind, object, line);
  if (gang.min < 1)
    complaints_.say(
        kind, object,
        fmt::format("gang {} asks for {} members: its pods do not wait for one another", gang.id, gang.min));
  if (gang.min > kMostMembers)
    complaints_.say(kind, object,
                    fmt::format("gang {} asks for {} members: it waits for as many pods, more than {}",
                                gang.id, gang.min, kMostMembers));
  const auto& groups = terms.groups;
  if (!groups.empty() && std::ranges::find(groups, gang.id) == groups.end())
    complaints_.say(
        kind, object,
        fmt::format("{} does not name gang {} itself: it is taken as if it did", api::kGangGroups, gang.id));
  join(gang, groups);
  for (const std::string& each : gang.group->gangs)
    if (const Gang* other = find(each); other != nullptr && other->known && other->group != gang.group)
      complaints_.say(kind, object,
                      fmt::format("gang {} says that it is placed with {}, which says otherwise ({}): each "
                                  "waits for those that it names",
                                  gang.id, each, other->group->id));
  recount(gang);
  wake(*gang.group);
}

/// The first pod says it for all.
void GangBook::read_pod(Gang& gang, const api::Pod& pod) {
  const api::GangTerms terms = api::gang_terms(pod.metadata);
  if (!terms.min) {
    for (const std::string& line : api::gang_warnings(pod.metadata))
      complaints_.say(kPod, pod.metadata, line);
    return;
  }
  gang.min = *terms.min;
  gang.wait = terms.waiting_time.value_or(default_wait_);
  read_terms(gang, terms, pod.metadata, kPod);
}

void GangBook::forget_terms(Gang& gang) {
  gang.known = false;
  gang.from_pod_group = false;
  recount(gang);
  if (gang.group->complete()) return;
  cycle_.reject_all(key(*gang.group), "gang is nil, may be already deleted");
}

void GangBook::pod_group_changed(const api::PodGroup* before, const api::PodGroup* now) {
  const api::ObjectMeta& meta = (now != nullptr ? now : before)->metadata;
  if (now == nullptr) {
    Gang* const known = find(gang_id(meta.namespace_.view(), meta.name));
    if (known == nullptr || !known->from_pod_group) return;
    forget_terms(*known);
    return drop_if_empty(*known);
  }
  // Its status is written all the time.
  if (before != nullptr && before->spec == now->spec && before->metadata.annotations == meta.annotations &&
      before->metadata.uid == meta.uid)
    return;
  Gang& of = gang(meta.namespace_.view(), meta.name);
  api::GangTerms terms = api::gang_terms(meta);
  of.from_pod_group = true;
  of.min = now->spec.min_member;
  const std::int32_t seconds = now->spec.schedule_timeout_seconds.value_or(0);
  of.wait = seconds > 0 ? std::chrono::seconds(seconds) : default_wait_;
  read_terms(of, terms, meta, kPodGroup);
  if (!of.pending.empty()) changed(*of.group);
}

// Members

Member* GangBook::member(const api::Pod& pod) {
  if (members_.empty()) return nullptr;
  const auto it = members_.find(pod_key(pod));
  return it != members_.end() && it->second->pod->metadata.uid == pod.metadata.uid ? it->second.get()
                                                                                   : nullptr;
}

void GangBook::uncount(const Member& member) {
  Gang& gang = *member.gang;
  switch (member.stage) {
    case Member::Stage::pending: gang.pending.erase(member.key); break;
    case Member::Stage::assumed: gang.assumed.erase(member.key); break;
    case Member::Stage::bound: --gang.bound; break;
  }
}

void GangBook::set_stage(Member& member, Member::Stage stage) {
  if (member.stage == stage) return;
  Gang& gang = *member.gang;
  uncount(member);
  member.stage = stage;
  switch (stage) {
    case Member::Stage::pending:
      gang.pending.emplace(member.key, &member);
      member.decided = 0;
      break;
    case Member::Stage::assumed: gang.assumed.emplace(member.key, &member); break;
    case Member::Stage::bound:
      ++gang.bound;
      if (gang.group->representative == member.key) drop_representative(*gang.group);
      satisfy(*gang.group);
      if (gang.strict && !gang.pending.empty()) wake(*gang.group);
      break;
  }
}

void GangBook::pod_seen(const std::shared_ptr<const api::Pod>& pod) {
  const auto named = api::gang_of(pod->metadata);
  if (!named && members_.empty()) return;
  std::string key = pod_key(*pod);
  auto it = members_.find(key);
  if (it != members_.end()) {
    const Member& known = *it->second;
    const bool stays = named && known.pod->metadata.uid == pod->metadata.uid &&
                       known.gang->ns == pod->metadata.namespace_.view() &&
                       known.gang->name == named->name.view();
    if (!stays) {
      remove(key);
      it = members_.end();
    }
  }
  if (!named) return;
  const bool bound = !pod->spec.node_name.empty();
  if (it != members_.end()) {
    Member& known = *it->second;
    const bool passes_on =
        known.gang->group->representative == known.key &&
        (pod->metadata.deletion_timestamp || pod->spec.scheduler_name != known.pod->spec.scheduler_name);
    known.pod = pod;
    if (bound) set_stage(known, Member::Stage::bound);
    if (passes_on) {
      drop_representative(*known.gang->group);
      wake(*known.gang->group);
    }
    if (!known.gang->known && named->source != api::GangSource::pod_group) read_pod(*known.gang, *pod);
    return;
  }
  Gang& of = gang(pod->metadata.namespace_.view(), named->name.view());
  auto made = std::make_unique<Member>();
  made->key = key;
  made->pod = pod;
  made->gang = &of;
  Member& member = *(members_[std::move(key)] = std::move(made));
  ++of.children;
  of.pending.emplace(member.key, &member);
  if (bound) set_stage(member, Member::Stage::bound);
  if (!of.known && named->source != api::GangSource::pod_group) read_pod(of, *pod);
  recount(of);
  // Where some were not enough, one more may be.
  if (!bound && of.known && of.group->complete() && !of.group->failure.empty()) changed(*of.group);
}

void GangBook::remove(const std::string& key) {
  const auto it = members_.find(key);
  const std::unique_ptr<Member> member = std::move(it->second);
  members_.erase(it);
  Gang& gang = *member->gang;
  uncount(*member);
  --gang.children;
  Group& group = *gang.group;
  const bool led = group.representative == key;
  if (led) drop_representative(group);
  recount(gang);
  if (!group.complete() && gang.strict && !gang.is_free())
    cycle_.reject_all(this->key(group),
                      fmt::format("Gang \"{}\" gets rejected due to Pod \"{}\" in Unreserve", gang.id,
                                  member->pod->metadata.name));
  if (led) wake(group);
  drop_if_empty(gang);
}

void GangBook::pod_left(const api::Pod& pod) {
  if (member(pod) != nullptr) remove(pod_key(pod));
}

void GangBook::reserve(const api::Pod& pod) {
  Member* const known = member(pod);
  if (known != nullptr && known->stage == Member::Stage::pending) set_stage(*known, Member::Stage::assumed);
}

void GangBook::unreserve(const api::Pod& pod) {
  Member* const known = member(pod);
  if (known != nullptr && known->stage == Member::Stage::assumed) set_stage(*known, Member::Stage::pending);
}

void GangBook::post_bind(const api::Pod& pod) {
  if (Member* const known = member(pod)) set_stage(*known, Member::Stage::bound);
}

void GangBook::satisfy(Group& group) {
  if (std::exchange(group.satisfied, true)) return;
  group.failure.clear();
  group.told.clear();
  changed(group);
}

// What the plugin asks

bool GangBook::valid(const Group& group) {
  return group.complete() && std::ranges::all_of(group.gangs, [this](const std::string& id) {
           const Gang* const gang = find(id);
           return gang != nullptr && gang->needs() <= 0;
         });
}

std::vector<Member*> GangBook::pending(const Group& group) {
  std::vector<Member*> all;
  for (const std::string& id : group.gangs)
    if (const Gang* gang = find(id))
      for (const auto& [key, member] : gang->pending) all.push_back(member);
  return all;
}

std::vector<Member*> GangBook::assumed(const Group& group) {
  std::vector<Member*> all;
  for (const std::string& id : group.gangs)
    if (const Gang* gang = find(id))
      for (const auto& [key, member] : gang->assumed) all.push_back(member);
  return all;
}

bool GangBook::represents(const Member& member) {
  std::string& by = member.gang->group->representative;
  if (by.empty()) by = member.key;
  return by == member.key;
}

void GangBook::wake(Group& group) {
  if (!group.complete() || group.one_by_one) return;
  if (const auto it = members_.find(group.representative);
      it == members_.end() || it->second->stage != Member::Stage::pending)
    drop_representative(group);
  if (!group.representative.empty()) return;
  for (const std::string& id : group.gangs) {
    const Gang* const gang = find(id);
    if (gang == nullptr || gang->group != &group || !gang->strict || gang->is_free()) continue;
    for (const auto& [key, member] : gang->pending) {
      if (!can_be_tried(*member->pod) || !cycle_.queued(*member->pod)) continue;
      cycle_.activate(*member->pod);
      if (!group.representative.empty()) return;
    }
  }
}

void GangBook::hurry_all() {
  for (const auto& [id, gang] : gangs_) {
    if (gang->bound == 0 || static_cast<std::int64_t>(gang->bound) >= gang->min) continue;
    for (const auto& [key, member] : gang->pending) hurry(*member);
  }
}

std::shared_ptr<const api::Pod> GangBook::next_in_haste() {
  for (std::size_t left = std::min(in_haste_.size(), kLookAt); left > 0; --left) {
    std::shared_ptr<const api::Pod> pod = std::move(in_haste_.front());
    in_haste_.pop_front();
    const Member* const known = member(*pod);
    if (known == nullptr || known->stage != Member::Stage::pending) continue;
    const auto queued = cycle_.queued(*pod);
    if (!queued) continue;
    if (queued->place == Place::active) return pod;
    in_haste_.push_back(std::move(pod));
  }
  return nullptr;
}

void GangBook::failed(Group& group, std::string why) {
  group.failure = std::move(why);
  if (!tells_others_) return;
  const MonoTime now = clock_.mono();
  if (!group.told.empty() && now - group.told_at < kTellAgain) return;
  group.told = group.failure;
  group.told_at = now;
  cycle_.happened(key(group), kTold);
}

std::string GangBook::lack(const Group& group, const Member& member) {
  const Gang& own = *member.gang;
  const std::string pod = text(placed_name(*member.pod));
  if (!own.known) return fmt::format("gang has not init, gangName: {}, podName: {}", own.id, pod);
  std::vector<std::string_view> absent, unknown;
  bool short_of_pods = false;
  for (const std::string& id : group.gangs) {
    const Gang* const gang = find(id);
    if (gang == nullptr) {
      absent.push_back(id);
    } else if (!gang->known) {
      unknown.push_back(id);
    } else if (!gang->enough) {
      short_of_pods = true;
    }
  }
  std::vector<std::string> why;
  const std::string all = fmt::format("[{}]", fmt::join(group.gangs, " "));
  if (!absent.empty()) why.push_back(fmt::format("memberGangs [{}] doesn't exists", fmt::join(absent, " ")));
  if (!unknown.empty()) why.push_back(fmt::format("memberGangs [{}] has not init", fmt::join(unknown, " ")));
  if (short_of_pods) why.push_back(fmt::format("memberGangs {} child pod not collect enough", all));
  return fmt::format("gangGroup {} basic check: {}, current gang: {}, podName: {}", all, fmt::join(why, ", "),
                     own.id, pod);
}

void GangBook::each_gang(
    const std::function<void(const Gang&, const std::vector<const Member*>&)>& visit) const {
  std::map<const Gang*, std::vector<const Member*>> all;
  for (const auto& [key, member] : members_) all[member->gang].push_back(member.get());
  for (const auto& [id, gang] : gangs_) {
    std::vector<const Member*>& members = all[gang.get()];
    std::ranges::sort(members, {}, [](const Member* member) { return member->key; });
    visit(*gang, members);
  }
}

}  // namespace koord::scheduling::coscheduling
