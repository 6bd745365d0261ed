// GangBook: pods as the cluster has them, in gangs and groups of gangs.
#pragma once

#include <chrono>
#include <cstddef>
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

#include "koord/scheduling/plugin/complaints.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/gangs/gang.hpp"
#include "scheduling/gangs/measures.hpp"

namespace koord::scheduling::gangs {

/// The gangs of one front door, which says what pods and objects mean by them, and in which words they are
/// spoken of. One for all profiles. What it knows follows from the objects, which may come in any order, and
/// from what reserve(), unreserve() and post_bind() tell. Each call costs the logarithm of what is known, and
/// the gangs of the group. Belongs to the engine's thread.
class GangBook {
 public:
  /// A gang that asks for more than this is told of in the log: nobody has so many pods.
  static constexpr std::int32_t kMostMembers = 1'000'000;

  explicit GangBook(const PluginContext& context);
  virtual ~GangBook() = default;
  GangBook(const GangBook&) = delete;
  GangBook& operator=(const GangBook&) = delete;

  // What a front door says.
  /// The gang that a pod is in, by its name in the pod's namespace; absent: none.
  virtual std::optional<Symbol> gang_of(const api::Pod& pod) const = 0;
  /// How long a pod of it waits for its permit from now on.
  virtual nanoseconds wait_of(Gang& gang) const { return gang.wait; }
  /// What the group lacks; `member` is who is told.
  virtual std::string lack(const Group& group, const Member& member) const = 0;
  /// Why the group was not placed: for `pod` there was no place, after `placed` others had one.
  virtual std::string rejection(const Group& group, const api::Pod& pod, std::string_view why,
                                std::size_t placed) const = 0;
  /// What is told to those that wait for their permit when `pod` of the gang does not any more; empty: they
  /// go on waiting.
  virtual std::string given_up(const Gang& gang, const api::Pod& pod) const = 0;
  /// They wait for their permit one by one (extenders have a say): the others are to be tried at once.
  virtual bool hurries_others() const { return false; }

  void pod_seen(const std::shared_ptr<const api::Pod>& pod);
  void pod_left(const api::Pod& pod);

  // What becomes of members on the way to their nodes. Of what is no member nothing.
  void reserve(const api::Pod& pod, const Symbol& node);
  void unreserve(const api::Pod& pod);
  void post_bind(const api::Pod& pod);

  /// nullptr: it is in no gang, or not known.
  Member* member(const api::Pod& pod);
  const Member* member(const api::Pod& pod) const { return const_cast<GangBook*>(this)->member(pod); }
  bool empty() const { return members_.empty(); }
  /// nullptr: there is none. `id` is "namespace/name".
  Gang* find(std::string_view id);
  const Gang* find(std::string_view id) const { return const_cast<GangBook*>(this)->find(id); }
  /// All gangs of the group have as many as they need, with those that are assumed now.
  bool valid(const Group& group);
  /// It waits for its permit from now on: until it is decided, or has no node any more.
  void waits(Member& member);
  /// It is bound with others, `of` with itself; 1: alone.
  void decided(Member& member, std::size_t of);
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
  /// `victims`: what came of the search for victims.
  void failed(Group& group, std::string why, std::string victims = {});

  /// What the first gang of the group says that says something; nullptr: none does.
  const api::NetworkTopologySpec* topology(const Group& group);
  /// It is tried again when the network's topology is another one; or not any more.
  void waits_for_topology(const Group& group) { waiting_for_topology_.insert(group.id); }
  void waits_no_more(const Group& group) { waiting_for_topology_.erase(group.id); }
  void topology_changed();

  /// It comes before the queue's next once it may be tried: others of its gang are bound, or on their way.
  void hurry(const Member& member) { in_haste_.push_back(member.pod); }
  /// The same of all members whose gang is bound in part.
  void hurry_all();
  /// The next of these; nullptr: none may be tried now.
  std::shared_ptr<const api::Pod> next_in_haste();

  /// By id.
  void each_gang(const std::function<void(const Gang&, const std::vector<const Member*>&)>& visit) const;

  /// Pods that are rejected, wait or are kept out for the group have this key.
  RejectorKey key(const Group& group) const { return {plugin_, group.key}; }
  /// What is counted of its groups.
  Measures& measures() { return measures_; }
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

 protected:
  /// The gang is not known yet: what the pod, or objects, say of it. settled() if they say anything.
  virtual void read_terms(Gang& gang, const api::Pod& pod) = 0;

  /// Its gang and group, made where there is none.
  Gang& gang(std::string_view ns, std::string_view name);
  /// It is placed with these ("namespace/name"), itself among them or not; empty: alone.
  void join(Gang& gang, std::vector<std::string> groups);
  /// Its terms are set: its group may be complete now. `kind` of object has said them.
  void settled(Gang& gang, const api::ObjectMeta& object, std::string_view kind);
  /// Nobody says any more how many are needed. Those that wait for their permit hear `why`.
  void forget_terms(Gang& gang, std::string_view why);
  void drop_if_empty(Gang& gang);
  /// In the order of their ids, of those that begin with `prefix`. The visit makes and drops none.
  void each_of(std::string_view prefix, const std::function<void(Gang&)>& visit);
  Complaints& complaints() const { return complaints_; }
  static std::string id_of(std::string_view ns, std::string_view name);

 private:
  Group& group(std::vector<std::string> gangs, const std::string& id);
  void leave_group(Gang& gang);
  void set_stage(Member& member, Member::Stage stage, const Symbol& node = {});
  void uncount(Member& member);
  void waits_no_more(Member& member);
  void wait_in(Group& group, std::ptrdiff_t more);
  void remove(const std::string& key);
  void recount(Gang& gang);
  void lacks(Group& group);
  void satisfy(Group& group);

  const Clock& clock_;
  CycleControl& cycle_;
  Complaints& complaints_;
  const std::string_view plugin_;
  const bool tells_others_;
  bool told_ = false;
  Measures measures_;
  std::unordered_map<std::string, std::unique_ptr<Member>> members_;  // by key
  std::map<std::string, std::unique_ptr<Gang>, std::less<>> gangs_;   // by id
  std::unordered_map<std::string, std::unique_ptr<Group>> groups_;    // by id
  std::map<std::string, std::set<Group*>, std::less<>> listed_;       // by gang's id: who counts it
  std::deque<std::shared_ptr<const api::Pod>> in_haste_;
  std::set<std::string> waiting_for_topology_;              // groups, by id
  std::deque<std::pair<MonoTime, std::string>> impatient_;  // when which group will have lacked long
};

}  // namespace koord::scheduling::gangs
