// Coscheduling: pods of a gang are placed together or not at all.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/scheduling/plugin/explain_plugin.hpp"
#include "koord/scheduling/plugin/group_plugin.hpp"
#include "koord/scheduling/plugin/koordinator_points.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"
#include "koord/scheduling/plugin/service_plugin.hpp"
#include "scheduling/plugins/coscheduling/args.hpp"
#include "scheduling/plugins/coscheduling/book.hpp"

namespace koord::scheduling::coscheduling {

/// A strict gang, with the others of its group, is placed as a GroupPlugin places: all of them against one
/// trial, and what each gang needs or nothing. One pod of the group stands for it in the queue. Pods of other
/// gangs are tried one by one, and wait for their permit until there are enough. Once a gang is satisfied,
/// those who follow go alone.
class Coscheduling final : public Plugin,
                           public PreEnqueuePlugin,
                           public NextPodPlugin,
                           public AdmitPlugin,
                           public GroupPlugin,
                           public JobPlugin,
                           public EventPlugin,
                           public TimedPlugin,
                           public EveryPodPlugin,
                           public SyncedPlugin,
                           public ScorePlugin,
                           public PreScorePlugin,
                           public PostFilterPlugin,
                           public PostFilterTransformer,
                           public FewPodsPlugin,
                           public ReservePlugin,
                           public PermitPlugin,
                           public PreBindPlugin,
                           public PreBindReservationPlugin,
                           public PostBindPlugin,
                           public ControllerPlugin,
                           public ServicePlugin,
                           public AdmitExplainPlugin {
 public:
  Coscheduling(const CoschedulingArgs& args, const PluginContext& context);

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
  bool counts_placeholders() const override { return true; }
  void all_synced() override;

  // Configurations name it there; it has no say without a topology of the network.
  Depends score_depends() const override { return Depends::node; }
  ScorePlugin::Prepared prepare_score(const PodInfo&) override { return {nullptr, true}; }
  void score(PodState*, const NodeTable&, std::span<const Row>, std::span<std::int32_t>) const override {}
  /// Nobody is preempted for a gang yet.
  PostFilterResult post_filter(PodAttempt&, const Diagnosis&) override {
    return {.status = {StatusCode::unschedulable, {}}};
  }
  void after_post_filter(const PodAttempt& attempt, const Diagnosis& diagnosis, const Status& said) override;

  bool follows_up(const PodInfo& pod) const override { return book_.member(*pod.pod) != nullptr; }
  Status reserve(PodAttempt& attempt) override;
  void unreserve(PodAttempt& attempt) override;
  Answer permit(PodAttempt& attempt) override;
  std::shared_ptr<PreBindWork> pre_bind(PodAttempt&) override { return nullptr; }
  void change_pod(PodAttempt& attempt, PodChanges& changes) override;
  void change_reservation(PodAttempt& attempt, PodChanges& changes) override { change_pod(attempt, changes); }
  void post_bind(PodAttempt& attempt) override { book_.post_bind(*attempt.pod.pod); }

  std::unique_ptr<PluginController> make_controller(kube::InformerSet& informers,
                                                    kube::Client& client) override;

  std::vector<std::string_view> service_paths() const override {
    return {"/gang/:namespace/:name", "/gangs"};
  }
  std::optional<ServiceAnswer> serve(const ServiceRequest& request) const override;
  Admission explain_admission(const PodInfo& pod) override;

 private:
  class Placing;
  bool is_held(const Member& member) const;
  void decide(const Group& group);
  std::string rejection(const Group& group, const api::Pod& pod, const std::string& why,
                        std::size_t placed) const;

  GangBook& book_;
  const bool tells_;
  CycleControl& cycle_;
  const NodeTable& nodes_;
  const PluginIndex index_;
  bool placing_ = false;
};

}  // namespace koord::scheduling::coscheduling
