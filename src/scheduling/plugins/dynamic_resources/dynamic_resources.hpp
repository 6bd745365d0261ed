// DynamicResources: see dynamic_resources.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "koord/api/types/resource_v1/device_class.hpp"
#include "koord/scheduling/plugin/explain_plugin.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/plugins/dynamic_resources/allocate/allocate.hpp"
#include "scheduling/plugins/dynamic_resources/args.hpp"
#include "scheduling/plugins/dynamic_resources/claims/claim_book.hpp"
#include "scheduling/plugins/dynamic_resources/nodes/search_share.hpp"
#include "scheduling/plugins/dynamic_resources/pod_state.hpp"

namespace koord::scheduling::dynamic_resources {

/// What the instances of all profiles share. It outlives them.
struct ClaimCluster {
  ClaimCluster(const PluginContext& context, NamingAttributes names);

  DeviceRows rows;
  ClaimBook book;
  AskClasses asks;
  SearchShare share;
  ObjectStore<api::DeviceClass>& classes;
  const std::shared_ptr<ClaimBoard> board = std::make_shared<ClaimBoard>();
  std::optional<ExtendedPods> extended;  // with the gate DRAExtendedResource

 private:
  ExtendedResources::Devices count(Row row, const api::DeviceClass& device_class);
};

/// Nothing follows from a pod's class: each class keeps this, and it is small.
struct OfNoClass final : PodState {
  std::size_t bytes() const override { return sizeof *this; }
};

class DynamicResources final : public Plugin,
                               public PreEnqueuePlugin,
                               public PerPodFilterPlugin,
                               public PreFilterPlugin,
                               public PostFilterPlugin,
                               public CrossNodeScorePlugin,
                               public ReservePlugin,
                               public PreBindPlugin,
                               public PostBindPlugin,
                               public EventPlugin,
                               public ControllerPlugin,
                               public PodNumaHints,
                               public AdmitExplainPlugin {
 public:
  struct Rules {
    nanoseconds filter_timeout{};  // 0: none
    nanoseconds binding_timeout{};
    NamingAttributes names;
  };
  DynamicResources(Rules rules, const PluginContext& context);

  /// In effect: those of the first profile.
  const NamingAttributes& names() const { return cluster_.book.names(); }

  /// What is read of claims differs from pod to pod.
  bool sign(const PodInfo&, Signature&) const override { return true; }

  bool may_enqueue(const PodInfo& pod) const override;
  /// kube-scheduler tells nobody.
  std::string why_kept_out(const PodInfo&) const override { return {}; }

  std::unique_ptr<PodState> pre_filter_pod(const PodInfo& pod, PreFiltered& said) override;
  void filter_pod(PodState& state, const NodeTable& nodes, std::span<const Row> rows,
                  std::span<VerdictId> out) const override;
  PostFilterResult post_filter(PodAttempt& attempt, const Diagnosis& diagnosis) override;

  std::unique_ptr<PodState> prepare_cross_node_score(const PodInfo&) override {
    return std::make_unique<OfNoClass>();
  }
  bool may_score(PodState&, const PodInfo&) override;
  bool is_named_at_pre_score() const override { return false; }
  bool pre_score(PodState&, const PodInfo&, const NodeTable&, std::span<const Row>) override { return true; }
  void score(PodState& state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int64_t> out) const override;
  void normalize(PodState& state, std::span<const Row> rows, std::span<std::int64_t> scores) const override;

  void pod_numa_hints(PodAttempt& attempt, std::vector<NumaHintList>& out) const override;
  Status reserve(PodAttempt& attempt) override;
  void unreserve(PodAttempt& attempt) override;
  std::shared_ptr<PreBindWork> pre_bind(PodAttempt& attempt) override;
  void post_bind(PodAttempt& attempt) override;

  EventMask events() const override { return events_; }
  EventMask events_of_pods() const override { return claim_events_; }
  bool concerns(const PodInfo& pod, const ClusterEvent& event) const override;
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override;

  std::unique_ptr<PluginController> make_controller(kube::InformerSet& informers,
                                                    kube::Client& client) override;
  Admission explain_admission(const PodInfo& pod) override;

 private:
  /// The pod's claims. The error is why it waits for them.
  Result<std::vector<ClaimState::Claim>> claims(const api::Pod& pod) const;
  /// False: the claims cannot be had now, as `said` says.
  bool read(ClaimState& state, PreFiltered& said);
  VerdictId judge(ClaimState& state, Row row) const;
  /// What is asked for there; nullptr: nothing that the row could have, as `refused` says.
  const Asking* asking_on(ClaimState& state, Row row, VerdictId& refused) const;
  AskCell look(ClaimState& state, const Asking& asking, Row row) const;
  bool fits_everywhere(ClaimState& state) const;
  AskCell search(ClaimState& state, const Asking& asking, Row row) const;
  /// In what the attempt has left of the time that it may take. `had_all`: no attempt has more.
  dynamic_resources::Answer ask_in_time(ClaimState& state, const Asking& asking, const NodePools& pools,
                                        bool only_whether, NumaMask numa_nodes, bool& had_all) const;
  dynamic_resources::Answer ask(const Asking& asking, const NodePools& pools, MonoTime until,
                                bool only_whether, NumaMask numa_nodes = 0) const;
  dynamic_resources::Answer ask_near(const Asking& asking, const NodePools& pools, NumaMask nodes) const;
  /// 0: to none.
  NumaMask bound_to(ClaimState& state, const Asking& asking, const PodAttempt& attempt) const;
  void prepare_alignment(ClaimState& state, const PodInfo& pod) const;
  VerdictId align(ClaimState& state, const Asking& asking, Row row) const;
  /// False: there was not the time to find out.
  bool add_hints(ClaimState& state, const Asking& asking, Row row, std::vector<NumaHintList>& out) const;
  const NumaCell& numa_cell(ClaimState& state, const Asking& asking, const NodePools& pools, Row row) const;
  static const SpecialClaim* special_of(const ClaimState& state, const Asking& asking);
  VerdictId failed(ClaimState& state, std::string why) const;
  VerdictId intern(std::string reason) const {
    return context_.verdicts.intern({context_.index, true, {std::move(reason)}});
  }

  PluginContext context_;
  Rules rules_;
  ClaimCluster& cluster_;
  const Features features_;
  VerdictId not_allocated_, timed_out_, not_available_, left_, not_to_be_had_;
  EventMask events_, claim_events_, alignment_events_;
  ClaimState::Tried tried_ = std::make_shared<ClaimState*>(nullptr);
  std::function<const api::DeviceClass*(std::string_view)> find_class_;
  std::function<std::string()> new_share_;
};

}  // namespace koord::scheduling::dynamic_resources
