// GangPlugin: what a plugin that places gangs does at the points of the cycle; a front door adds its book.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "koord/scheduling/plugin/explain_plugin.hpp"
#include "koord/scheduling/plugin/group_plugin.hpp"
#include "koord/scheduling/plugin/koordinator_points.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"
#include "koord/scheduling/plugin/telling_plugin.hpp"
#include "scheduling/gangs/book.hpp"
#include "scheduling/gangs/doors.hpp"

namespace koord::scheduling {
struct Profile;
namespace preemption {
class Preemptor;
}
}  // namespace koord::scheduling

namespace koord::scheduling::gangs {

/// A strict gang, with the others of its group, is placed as a GroupPlugin places: all of them against one
/// trial, and what each gang needs or nothing. One pod of the group stands for it in the queue. Pods of other
/// gangs are tried one by one, and wait for their permit until there are enough. Once a gang is satisfied,
/// those who follow go alone. A pod that is in a gang through two front doors is refused by both.
class GangPlugin : public Plugin,
                   public PreEnqueuePlugin,
                   public NextPodPlugin,
                   public AdmitPlugin,
                   public GroupPlugin,
                   public JobPlugin,
                   public EventPlugin,
                   public TimedPlugin,
                   public EveryPodPlugin,
                   public SyncedPlugin,
                   public FewPodsPlugin,
                   public ReservePlugin,
                   public PermitPlugin,
                   public PostBindPlugin,
                   public MeasuredPlugin,
                   public AdmitExplainPlugin {
 public:
  /// What nodes are asked about is the same for a pod with a gang and without one.
  bool sign(const PodInfo&, Signature&) const override { return true; }

  bool may_enqueue(const PodInfo& pod) const override;
  std::string why_kept_out(const PodInfo& pod) const override;
  Symbol kept_out_by(const PodInfo& pod) const override;
  bool is_unschedulable(const PodInfo& pod) const override;
  std::shared_ptr<const api::Pod> next_pod() override { return book_.next_in_haste(); }
  Status admit(const PodInfo& pod) override;
  bool leads_group(const PodInfo& pod) const override;
  Status place_group(const PodInfo& pod, Placements& places) override;
  Symbol job_of(const PodInfo& pod) const override;

  EventMask events() const override;
  EventMask events_of_pods() const override { return events_of(EventKind::plugin_told); }
  bool concerns(const PodInfo& pod, const ClusterEvent& event) const override;
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override;
  std::optional<WallTime> next_time() const override;
  void time_passed(WallTime now, const std::function<void(const ClusterEvent&)>& happened) override;
  // One of the instances of all profiles tells the book.
  void pod_seen(const std::shared_ptr<const api::Pod>& pod) override;
  void pod_left(const api::Pod& pod) override;
  void all_synced() override;

  bool follows_up(const PodInfo& pod) const override { return book_.member(*pod.pod) != nullptr; }
  Status reserve(PodAttempt& attempt) override;
  void unreserve(PodAttempt& attempt) override;
  Answer permit(PodAttempt& attempt) override;
  void post_bind(PodAttempt& attempt) override { book_.post_bind(*attempt.pod.pod); }

  void measure(metrics::Registry& registry) override { book_.measures().measure(registry); }

  Admission explain_admission(const PodInfo& pod) override;
  std::vector<std::string> explain_attempt(const PodInfo& pod) override;

  /// What nodes cost, by row, on a trial from which possible victims are set aside.
  using Costs = std::span<const std::int64_t>;
  /// What a front door has made of a group.
  struct Gathered {
    Status status = {};  // success: all have a place. skip: extenders have a say about them
    // Of a rejection:
    Member* failed = nullptr;             // who found no place; its message is the status's
    std::size_t before = 0;               // so many had one by then
    std::vector<std::string> tried = {};  // sentences about the domains of the network
    Member* instead = nullptr;            // set: the others may have places if this one leads
    bool hopeless = false;                // no room of whatever size would do
  };

 protected:
  /// The book is shared with the plugin's instances of other profiles.
  GangPlugin(GangBook& book, const PluginContext& context);

  /// It waits for others of its gang, or they for it.
  static bool is_held(const Member& member) { return !member.gang->is_free(); }

  /// Places a strict group's members together in a way of its own; absent: each goes where it fits best. What
  /// was placed before a rejection may still be there. `costs`, if there are any: it has been refused before,
  /// which is not said again, and of places that are as good the cheaper ones are better.
  virtual std::optional<Gathered> gather(Group& /*group*/, Member& /*leader*/, Placements& /*places*/,
                                         Costs /*costs*/) {
    return std::nullopt;
  }
  /// Makes room for a whole group where it finds none, see Clearing; nullptr: nobody does but a quota's
  /// plugin. Whoever gives one is asked at the profile's PostFilter, and hands on what it is told there.
  virtual preemption::Preemptor* preemptor() { return nullptr; }
  /// It does so at its own place among those that are asked at PostFilter; else at DefaultPreemption's, if
  /// the profile has that.
  virtual bool preempts_itself() const { return false; }

  CycleControl& cycle_;

 private:
  class Placing;
  struct Cleared;
  struct Room;
  Status place(Group& group, Member& leader, Placing& placing, Placements& places);
  void placed(Group& group);
  Status refused(Group& group, const Member& by, const std::string& why, std::size_t placed,
                 std::string victims = {});
  Status settle(Group& group, Gathered gathered, std::string victims, Placements& places);
  std::vector<Room> rooms(const Profile& profile, bool admitted);
  Cleared clear(const Room& room, const Group& group, Placing& placing, Placements& places);
  Cleared clear_and_gather(const Room& room, Group& group, Member& leader, const Member& failed,
                           Placing& placing, Placements& places);
  std::string make_room(const Group& group, const Member& failed, const Placing& placing, Placements& places,
                        const std::function<Cleared(const Room&)>& clear);
  void decide(const Group& group);
  bool in_two(const PodInfo& pod) const { return doors_.in_two(*pod.pod); }

  GangBook& book_;
  const Doors& doors_;
  const PluginIndex index_;
  const bool tells_;
  const NodeTable& nodes_;
  bool placing_ = false;
};

}  // namespace koord::scheduling::gangs
