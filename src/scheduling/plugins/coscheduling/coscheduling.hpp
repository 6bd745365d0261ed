// Coscheduling: the gangs of Koordinator, whose pods are placed together or not at all.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "koord/scheduling/plugin/cross_node_plugin.hpp"
#include "koord/scheduling/plugin/service_plugin.hpp"
#include "scheduling/gangs/gang_plugin.hpp"
#include "scheduling/plugins/coscheduling/args.hpp"
#include "scheduling/plugins/coscheduling/gathering.hpp"
#include "scheduling/plugins/coscheduling/koordinator_book.hpp"
#include "scheduling/preemption/preemptor.hpp"

namespace koord::scheduling::coscheduling {

/// Koordinator's front door of the engine for gangs (gangs/gang_plugin.hpp). A strict gang that names a
/// network topology is placed by it (Gathering). Room is made for any strict gang as for one, see Clearing:
/// with enablePreemption, and where the profile has DefaultPreemption.
class Coscheduling final : public gangs::GangPlugin,
                           public CrossNodeScorePlugin,
                           public PostFilterPlugin,
                           public PostFilterTransformer,
                           public PreBindPlugin,
                           public PreBindReservationPlugin,
                           public ControllerPlugin,
                           public ServicePlugin {
 public:
  Coscheduling(const CoschedulingArgs& args, const PluginContext& context);

  bool may_enqueue(const PodInfo& pod) const override;
  bool counts_placeholders() const override { return true; }

  // Pods that name a network-topology-selector are near to those that name the same one (Nearness).
  std::unique_ptr<PodState> prepare_cross_node_score(const PodInfo& pod) override;
  bool may_score(PodState& state, const PodInfo& pod) override;
  bool pre_score(PodState& state, const PodInfo& pod, const NodeTable& nodes,
                 std::span<const Row> feasible) override;
  void score(PodState& state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int64_t> out) const override;
  void normalize(PodState& state, std::span<const Row> rows, std::span<std::int64_t> scores) const override;

  /// With enablePreemption a pod that is tried alone is a job of one.
  PostFilterResult post_filter(PodAttempt& attempt, const Diagnosis& diagnosis) override;
  void preempted(const api::Pod& pod, bool all) override { preemptor_.preempted(pod, all); }
  void after_post_filter(const PodAttempt& attempt, const Diagnosis& diagnosis, const Status& said) override;

  std::shared_ptr<PreBindWork> pre_bind(PodAttempt&) override { return nullptr; }
  void change_pod(PodAttempt& attempt, PodChanges& changes) override;
  void change_reservation(PodAttempt& attempt, PodChanges& changes) override { change_pod(attempt, changes); }

  std::unique_ptr<PluginController> make_controller(kube::InformerSet& informers,
                                                    kube::Client& client) override;

  std::vector<std::string_view> service_paths() const override {
    return {"/gang/:namespace/:name", "/gangs"};
  }
  std::optional<ServiceAnswer> serve(const ServiceRequest& request) const override;

 private:
  struct Ranks;
  Coscheduling(KoordinatorBook& book, const CoschedulingArgs& args, const PluginContext& context);
  preemption::Preemptor* preemptor() override { return &preemptor_; }
  bool preempts_itself() const override { return preempts_; }
  std::optional<Gathered> gather(Group& group, Member& leader, Placements& places, Costs costs) override;

  KoordinatorBook& book_;
  const NodeTable& nodes_;
  const bool preempts_;
  preemption::Preemptor preemptor_;
  /// Gangs that name a network topology are placed by it; `gathering_` is absent where there can be none.
  bool aware_ = false, writes_topology_ = false;
  topology::NetworkTopology* topology_ = nullptr;
  std::optional<Gathering> gathering_;
};

}  // namespace koord::scheduling::coscheduling
