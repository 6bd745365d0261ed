// GangBook: PodGroups, pods and reservations as the cluster has them, in gangs and groups of gangs.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp"
#include "koord/scheduling/plugin/complaints.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/plugins/coscheduling/args.hpp"
#include "scheduling/plugins/coscheduling/gang.hpp"

namespace koord::scheduling::coscheduling {

/// One for all profiles; the arguments of the first one count. What it knows follows from the objects, which
/// may come in any order, and from what reserve(), unreserve() and post_bind() tell. Each call costs the
/// logarithm of what is known, and the gangs of the group. Belongs to the engine's thread.
class GangBook {
 public:
  /// A gang that asks for more than this is told of in the log: nobody has so many pods.
  static constexpr std::int32_t kMostMembers = 1'000'000;

  GangBook(const PluginContext& context, const CoschedulingArgs& args);
  GangBook(const GangBook&) = delete;
  GangBook& operator=(const GangBook&) = delete;

  void pod_seen(const std::shared_ptr<const api::Pod>& pod);
  void pod_left(const api::Pod& pod);
  void pod_group_changed(const api::PodGroup* before, const api::PodGroup* now);

  // What becomes of members on the way to their nodes. Of what is no member nothing.
  void reserve(const api::Pod& pod);
  void unreserve(const api::Pod& pod);
  void post_bind(const api::Pod& pod);

  /// nullptr: it is in no gang, or not known.
  Member* member(const api::Pod& pod);
  const Member* member(const api::Pod& pod) const { return const_cast<GangBook*>(this)->member(pod); }
  bool empty() const { return members_.empty(); }
  /// nullptr: there is none. `id` is "namespace/name".
  Gang* find(std::string_view id);
  /// All gangs of the group have as many as they need, with those that are assumed now.
  bool valid(const Group& group);
  /// Its members without a node, gang by gang in the group's order, by name.
  std::vector<Member*> pending(const Group& group);
  /// Those of the group that are assumed and not bound. It costs the members of its gangs.
  std::vector<Member*> assumed(const Group& group);

  /// The member is the one that the queue has of the group, if there is none yet. False: another one is.
  static bool represents(const Member& member);
  /// There is none, and the next one that comes by is it.
  void drop_representative(Group& group) { group.representative.clear(); }
  /// One of the members that wait is tried, if none is going to be: its plugins may keep it out.
  void wake(Group& group);
  /// All that wait for the group are looked at again.
  void changed(const Group& group) const { cycle_.happened(key(group), kChanged); }
  /// Why the group was not placed. Its other members are told at once and then once in kTellAgain.
  void failed(Group& group, std::string why);

  /// It comes before the queue's next once it may be tried: others of its gang are bound, or on their way.
  void hurry(const Member& member) { in_haste_.push_back(member.pod); }
  /// The same of all members whose gang is bound in part.
  void hurry_all();
  /// The next of these; nullptr: none may be tried now.
  std::shared_ptr<const api::Pod> next_in_haste();

  /// What the group lacks, in Koordinator's words; `member` is who is told.
  std::string lack(const Group& group, const Member& member);
  /// By id.
  void each_gang(const std::function<void(const Gang&, const std::vector<const Member*>&)>& visit) const;

  /// Pods that are rejected, wait or are kept out for the group have this key.
  RejectorKey key(const Group& group) const { return {plugin_, group.key}; }
  bool has_teller() const { return told_; }
  void is_told() { told_ = true; }
  MonoTime now() const { return clock_.mono(); }

  /// Members hear what their group lacks when it has lacked it for so long: most pods of a gang come within
  /// a moment.
  static constexpr nanoseconds kPatience = std::chrono::seconds(5);
  bool is_patient(const Group& group) const { return clock_.mono() - group.lacks_since < kPatience; }
  // As a TimedPlugin's: when that is next the case of a group.
  std::optional<WallTime> next_time() const;
  void time_passed();

  /// The members of a group that has failed are told of it anew after so long.
  static constexpr nanoseconds kTellAgain = std::chrono::minutes(1);
  /// What events of a group are counted as: others are to hear why they wait, or something has changed.
  static constexpr std::string_view kTold = "GangTold", kChanged = "GangChanged";

 private:
  Gang& gang(std::string_view ns, std::string_view name);
  Group& group(std::vector<std::string> gangs, const std::string& id);
  void join(Gang& gang, std::vector<std::string> groups);
  void leave_group(Gang& gang);
  void read_terms(Gang& gang, const api::GangTerms& terms, const api::ObjectMeta& object,
                  std::string_view kind);
  void read_pod(Gang& gang, const api::Pod& pod);
  void forget_terms(Gang& gang);
  void set_stage(Member& member, Member::Stage stage);
  void uncount(const Member& member);
  void remove(const std::string& key);
  void drop_if_empty(Gang& gang);
  void recount(Gang& gang);
  void lacks(Group& group);
  void satisfy(Group& group);

  const Clock& clock_;
  CycleControl& cycle_;
  Complaints& complaints_;
  const std::string_view plugin_;
  const nanoseconds default_wait_;
  const api::GangMatchPolicy default_policy_;
  const bool tells_others_;
  bool told_ = false;
  std::unordered_map<std::string, std::unique_ptr<Member>> members_;  // by key
  std::map<std::string, std::unique_ptr<Gang>, std::less<>> gangs_;   // by id
  std::unordered_map<std::string, std::unique_ptr<Group>> groups_;    // by id
  std::map<std::string, std::set<Group*>, std::less<>> listed_;       // by gang's id: who counts it
  std::deque<std::shared_ptr<const api::Pod>> in_haste_;
  std::deque<std::pair<MonoTime, std::string>> impatient_;  // when which group will have lacked long
};

}  // namespace koord::scheduling::coscheduling
