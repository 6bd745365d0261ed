// GangBook: see book.hpp.
#include "scheduling/gangs/book.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"

namespace koord::scheduling::gangs {

namespace {

constexpr std::string_view kTellsOthers = "GangPendingPodsConditionPatch";

/// So many of those that come first are looked at for one that can be tried.
constexpr std::size_t kLookAt = 32;

std::ptrdiff_t waiting_of(const Gang& gang) {
  return std::ranges::count_if(gang.assumed, [](const auto& entry) { return entry.second->waits; });
}

bool can_be_tried(const api::Pod& pod) {
  return pod.spec.scheduling_gates.empty() && !pod.metadata.deletion_timestamp;
}

}  // namespace

GangBook::GangBook(const PluginContext& context)
    : clock_(context.clock),
      cycle_(context.cycle),
      complaints_(context.shared.get<Complaints>()),
      plugin_(context.name),
      tells_others_(context.gates == nullptr || !context.gates->known(kTellsOthers) ||
                    context.gates->enabled(kTellsOthers)) {}

std::string GangBook::id_of(std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}", ns, name);
}

// Gangs and groups

Gang* GangBook::find(std::string_view id) {
  const auto it = gangs_.find(id);
  return it != gangs_.end() ? it->second.get() : nullptr;
}

Gang& GangBook::gang(std::string_view ns, std::string_view name) {
  std::string id = id_of(ns, name);
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
  group->job = Symbol(fmt::format("{} {}", plugin_, id));
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
  wait_in(now, waiting_of(gang));
  ++now.users;
  if (gang.bound > 0) satisfy(now);
  wake(now);
}

void GangBook::leave_group(Gang& gang) {
  Group& group = *std::exchange(gang.group, nullptr);
  wait_in(group, -waiting_of(gang));
  if (const auto it = members_.find(group.representative); it != members_.end() && it->second->gang == &gang)
    drop_representative(group);
  if (--group.users != 0) return wake(group);
  for (const std::string& each : group.gangs) {
    const auto it = listed_.find(each);
    it->second.erase(&group);
    if (it->second.empty()) listed_.erase(it);
  }
  waiting_for_topology_.erase(group.id);
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

void GangBook::settled(Gang& gang, const api::ObjectMeta& object, std::string_view kind) {
  gang.known = true;
  gang.total = std::max(gang.total, gang.min);
  gang.created = object.creation_timestamp.wall();
  if (gang.min > kMostMembers)
    complaints_.say(kind, object,
                    fmt::format("gang {} asks for {} members: it waits for as many pods, more than {}",
                                gang.id, gang.min, kMostMembers));
  recount(gang);
  wake(*gang.group);
}

void GangBook::forget_terms(Gang& gang, std::string_view why) {
  gang.known = false;
  gang.from_pod_group = false;
  gang.topology.reset();
  gang.near.clear();
  recount(gang);
  if (gang.group->complete()) return;
  cycle_.reject_all(key(*gang.group), why);
}

// Members

Member* GangBook::member(const api::Pod& pod) {
  if (members_.empty()) return nullptr;
  const auto it = members_.find(pod_key(pod));
  return it != members_.end() && it->second->pod->metadata.uid == pod.metadata.uid ? it->second.get()
                                                                                   : nullptr;
}

void GangBook::wait_in(Group& group, std::ptrdiff_t more) {
  const bool did = group.waiting != 0;
  group.waiting = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(group.waiting) + more);
  if (const bool does = group.waiting != 0; does != did) measures_.waiting(does ? 1 : -1);
}

void GangBook::waits(Member& member) {
  if (!std::exchange(member.waits, true)) wait_in(*member.gang->group, 1);
}

void GangBook::waits_no_more(Member& member) {
  if (std::exchange(member.waits, false)) wait_in(*member.gang->group, -1);
}

void GangBook::decided(Member& member, std::size_t of) {
  waits_no_more(member);
  member.decided = of;
}

void GangBook::uncount(Member& member) {
  Gang& gang = *member.gang;
  waits_no_more(member);
  if (const auto it = gang.nodes.find(member.node); it != gang.nodes.end()) {
    if (--it->second == 0) gang.nodes.erase(it);
    member.node = Symbol();
  }
  switch (member.stage) {
    case Member::Stage::pending: gang.pending.erase(member.key); break;
    case Member::Stage::assumed: gang.assumed.erase(member.key); break;
    case Member::Stage::bound: --gang.bound; break;
  }
}

void GangBook::set_stage(Member& member, Member::Stage stage, const Symbol& node) {
  if (member.stage == stage) return;
  Gang& gang = *member.gang;
  const Symbol on = node;  // which may be the member's own
  uncount(member);
  member.stage = stage;
  member.node = on;
  if (!on.empty()) ++gang.nodes[on];
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
  const std::optional<Symbol> named = gang_of(*pod);
  if (!named && members_.empty()) return;
  std::string key = pod_key(*pod);
  auto it = members_.find(key);
  if (it != members_.end()) {
    const Member& known = *it->second;
    const bool stays = named && known.pod->metadata.uid == pod->metadata.uid &&
                       known.gang->ns == pod->metadata.namespace_.view() && known.gang->name == named->view();
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
    if (bound) set_stage(known, Member::Stage::bound, pod->spec.node_name);
    if (passes_on) {
      drop_representative(*known.gang->group);
      wake(*known.gang->group);
    }
    if (!known.gang->known) read_terms(*known.gang, *pod);
    return;
  }
  Gang& of = gang(pod->metadata.namespace_.view(), named->view());
  auto made = std::make_unique<Member>();
  made->key = key;
  made->pod = pod;
  made->gang = &of;
  Member& member = *(members_[std::move(key)] = std::move(made));
  ++of.children;
  of.pending.emplace(member.key, &member);
  if (bound) set_stage(member, Member::Stage::bound, pod->spec.node_name);
  if (!of.known) read_terms(of, *pod);
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
    if (const std::string why = given_up(gang, *member->pod); !why.empty())
      cycle_.reject_all(this->key(group), why);
  if (led) wake(group);
  drop_if_empty(gang);
}

void GangBook::pod_left(const api::Pod& pod) {
  if (member(pod) != nullptr) remove(pod_key(pod));
}

void GangBook::reserve(const api::Pod& pod, const Symbol& node) {
  Member* const known = member(pod);
  if (known != nullptr && known->stage == Member::Stage::pending)
    set_stage(*known, Member::Stage::assumed, node);
}

void GangBook::unreserve(const api::Pod& pod) {
  Member* const known = member(pod);
  if (known != nullptr && known->stage == Member::Stage::assumed) set_stage(*known, Member::Stage::pending);
}

void GangBook::post_bind(const api::Pod& pod) {
  if (Member* const known = member(pod)) set_stage(*known, Member::Stage::bound, known->node);
}

void GangBook::satisfy(Group& group) {
  if (std::exchange(group.satisfied, true)) return;
  group.failure.clear();
  group.told.clear();
  group.tried.clear();
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

void GangBook::failed(Group& group, std::string why, std::string victims) {
  group.failure = std::move(why);
  if (!tells_others_) return;
  const MonoTime now = clock_.mono();
  if (!group.told.empty() && now - group.told_at < kTellAgain) return;
  group.told = group.failure;
  group.told_of_victims = std::move(victims);
  group.told_at = now;
  cycle_.happened(key(group), kTold);
}

void GangBook::each_of(std::string_view prefix, const std::function<void(Gang&)>& visit) {
  for (auto it = gangs_.lower_bound(prefix); it != gangs_.end() && it->first.starts_with(prefix); ++it)
    visit(*it->second);
}

const api::NetworkTopologySpec* GangBook::topology(const Group& group) {
  for (const std::string& id : group.gangs)
    if (const Gang* gang = find(id); gang != nullptr && gang->group == &group && gang->topology)
      return &*gang->topology;
  return nullptr;
}

void GangBook::topology_changed() {
  for (const std::string& id : std::exchange(waiting_for_topology_, {}))
    if (const auto it = groups_.find(id); it != groups_.end()) changed(*it->second);
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

}  // namespace koord::scheduling::gangs
