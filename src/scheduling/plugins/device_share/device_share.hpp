// DeviceShare: see device_share.cpp.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/scheduling/config/watched_scope.hpp"
#include "koord/scheduling/plugin/explain_plugin.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "koord/scheduling/plugin/service_plugin.hpp"
#include "koord/scheduling/plugin/telling_plugin.hpp"
#include "scheduling/extended_resources/extended_resources.hpp"
#include "scheduling/plugin/held_verdicts.hpp"
#include "scheduling/plugin/numa_place.hpp"
#include "scheduling/plugins/device_share/args.hpp"
#include "scheduling/plugins/device_share/device_nodes.hpp"
#include "scheduling/plugins/device_share/device_ways.hpp"
#include "scheduling/plugins/device_share/kept_answers.hpp"
#include "scheduling/plugins/device_share/templates/template_watch.hpp"

namespace koord::scheduling::device_share {

/// What one class of pods asks for, and what follows from it for each shape of machines.
struct State final : PodState {
  State(DeviceDemand asked, VerdictTable& verdicts, PluginIndex plugin)
      : demand(std::move(asked)), reasons(verdicts, plugin) {}
  std::size_t bytes() const override {
    const std::size_t shared =
        answers != nullptr ? answers->bytes() / static_cast<std::size_t>(answers.use_count()) : 0;
    const std::size_t beside = beside_claims != nullptr ? beside_claims->bytes() : 0;
    return sizeof *this + 512 * (reasons.size() + bound.size()) + shared + beside;
  }
  const BoundDemand& on(const std::shared_ptr<const DeviceShape>& shape);

  DeviceDemand demand;
  std::uint64_t templates = 0;  // TemplateWatch::version() by which it was read
  HeldVerdicts reasons;
  bool takes_over = false;                // devices of pods that are not in its view (pre-allocation)
  NumaDecider* decider = nullptr;         // nullptr: it is bound to no memory nodes
  std::unique_ptr<PodState> for_decider;  // of it
  std::unordered_map<const DeviceShape*, std::unique_ptr<const BoundDemand>> bound;
  /// Of rows as they are; nullptr: they follow from more than what it asks for of devices.
  std::shared_ptr<KeptAnswers> answers;

  /// With the gate DRAExtendedResource: vendors' resources that it asks for, and what it asks for besides,
  /// of nodes on which these are devices of claims. nullptr: it asks for none.
  std::vector<ResourceId> vendors;
  std::unique_ptr<State> beside_claims;
};

class DeviceShare final : public Plugin,
                          public FilterPlugin,
                          public PreFilterPlugin,
                          public ScorePlugin,
                          public PreScorePlugin,
                          public NumaHintPlugin,
                          public RoomJudge,
                          public ResizePodPlugin,
                          public ReservePlugin,
                          public PreBindPlugin,
                          public PreBindReservationPlugin,
                          public EventPlugin,
                          public ScopedWatchPlugin,
                          public AdmitExplainPlugin,
                          public MeasuredPlugin,
                          public ServicePlugin {
 public:
  DeviceShare(const DeviceShareArgs& args, const PluginContext& context);
  bool sign(const PodInfo& pod, Signature& signature) const override;

  Depends filter_depends() const override { return Depends::pods; }
  FilterPlugin::Prepared prepare_filter(const PodInfo& pod) override;
  void filter(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
              std::span<VerdictId> out) const override;
  VerdictId filter_view(PodState* state, const NodeTable& nodes, const NodeView& view) const override;

  Depends score_depends() const override { return Depends::pods; }
  Normalize normalize() const override { return Normalize::to_best; }
  ScorePlugin::Prepared prepare_score(const PodInfo& pod) override;
  void score(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int32_t> out) const override;
  std::int32_t score_view(PodState* state, const NodeTable& nodes, const NodeView& view) const override;

  std::unique_ptr<PodState> prepare_numa_hints(const PodInfo& pod) override;
  void numa_hints(PodState& state, const NodeView& view, std::vector<NumaHintList>& out) const override;

  std::unique_ptr<PodState> prepare_rooms(const PodInfo& pod) override;
  bool serves(PodState& state, const NodeView& view, std::string_view reservation) const override;
  std::int64_t worth(PodState& state, const NodeView& view, std::string_view reservation) const override;

  Status resize_pod(PodAttempt& attempt, Requests& takes) override;
  Status reserve(PodAttempt& attempt) override;
  void unreserve(PodAttempt& attempt) override;
  std::shared_ptr<PreBindWork> pre_bind(PodAttempt& attempt) override;
  void change_pod(PodAttempt& attempt, PodChanges& changes) override;
  std::shared_ptr<PreBindWork> pre_bind_reservation(PodAttempt& attempt) override;
  void change_reservation(PodAttempt& attempt, PodChanges& changes) override;

  EventMask events() const override { return events_; }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override;

  Admission explain_admission(const PodInfo& pod) override;
  std::optional<kube::Scope> watched(const kube::ObjectType& type) const override;

  void measure(metrics::Registry& registry) override { devices_.measure(registry); }
  std::vector<std::string_view> service_paths() const override {
    return {"/nodeDeviceSummaries", "/nodeDeviceSummaries/:name"};
  }
  std::optional<ServiceAnswer> serve(const ServiceRequest& request) const override;

 private:
  DeviceDemand demand_of(const PodInfo& pod) const;
  /// Those that a claim may bring in its place: with the gate alone.
  std::vector<ResourceId> vendors_of(const PodInfo& pod) const;
  bool are_of_claims(const std::vector<ResourceId>& vendors, Row row) const;
  /// What the pod asks for on this row.
  DeviceDemand demand_on(const PodInfo& pod, Row row) const;
  State& on_row(State& state, Row row) const;
  void add_beside_claims(State& state, const PodInfo& pod) const;
  DemandRules rules() const { return {templates_.now().get(), templates_config_.matched_resources}; }
  std::unique_ptr<State> make_state(const PodInfo& pod) const;
  std::unique_ptr<State> make_state(const PodInfo& pod, DeviceDemand demand) const;
  /// By the templates that there are now.
  State& current(PodState& state) const;
  VerdictId intern(std::string reason, bool unresolvable) const {
    return context_.verdicts.intern({context_.index, unresolvable, {std::move(reason)}});
  }
  VerdictId verdict(Refusal refusal) const;
  /// By the node's labels alone; kPass: nothing speaks against it.
  VerdictId refuses_shares(State& state, const NodeView& view) const;
  VerdictId judge(State& state, const NodeView& view, const DeviceWays& ways) const;
  /// As judge(), of one that takes over devices of pods.
  VerdictId judge_over(State& state, const DeviceWays& ways, NumaMask nodes) const;
  /// On which memory nodes. Absent: it is refused by whoever decides that.
  std::optional<NumaMask> place(State& state, const NodeView& view) const;
  /// What the pod gets on its row, of these memory nodes (0: of any); nothing where it asks for none, or
  /// nothing is known of the node's.
  Status choose(const PodAttempt& attempt, NumaMask nodes, std::shared_ptr<const Given>& given) const;
  std::shared_ptr<PreBindWork> bind_work(PodAttempt& attempt) const;

  PluginContext context_;
  DeviceNodes& devices_;
  ExtendedResources* extended_;  // nullptr: the gate is off
  DeviceScorer scorer_;
  GpuSharedResourceTemplatesConfig templates_config_;
  TemplateWatch templates_;
  std::vector<GpuShareUnsupportedModel> unshared_;
  std::uint64_t marked_ = 0;  // of templates_: rows that follow from them are looked at again
  bool aligns_, adapts_, resizes_;
  VerdictId no_isolation_;
  EventMask events_, template_events_, class_events_;
  mutable KnownAnswers answers_;
  mutable std::array<std::array<VerdictId, kDeviceTypes>, 16> refusals_{};
};

}  // namespace koord::scheduling::device_share
