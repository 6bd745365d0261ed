// Reservation: see reservation.cpp.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/scheduling/plugin/explain_plugin.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"
#include "koord/scheduling/plugin/service_plugin.hpp"
#include "koord/scheduling/plugin/telling_plugin.hpp"
#include "scheduling/plugins/reservation/args.hpp"
#include "scheduling/plugins/reservation/control/controller.hpp"
#include "scheduling/plugins/reservation/matched.hpp"
#include "scheduling/plugins/reservation/pre_allocation.hpp"
#include "scheduling/plugins/reservation/reserve_pod.hpp"
#include "scheduling/plugins/reservation/rules/selector_index.hpp"
#include "scheduling/preemption/placed_preemption.hpp"
#include "scheduling/preemption/preemptor.hpp"

namespace koord::scheduling::reservation {

/// What koord does for reservations, at each point of the cycle. The labels of a pod are not signed: which
/// reservations are for it is found for the pod of each cycle, by the selectors that select its label set.
class Reservations final : public Plugin,
                           public PreFilterTransformer,
                           public RowDeltaPlugin,
                           public FilterPlugin,
                           public PreFilterPlugin,
                           public PostFilterPlugin,
                           public preemption::PlacedPreemption,
                           public CrossNodeScorePlugin,
                           public PreScorePlugin,
                           public ReservationNominatorPlugin,
                           public ReservePlugin,
                           public FewPodsPlugin,
                           public PreBindPlugin,
                           public PreBindReservationPlugin,
                           public BindPlugin,
                           public EventPlugin,
                           public ControllerPlugin,
                           public FailureEventPlugin,
                           public MeasuredPlugin,
                           public ServicePlugin,
                           public ReservationExplainPlugin {
 public:
  Reservations(const ReservationArgs& args, const PluginContext& context);
  bool sign(const PodInfo& pod, Signature& signature) const override;

  Before before_pre_filter(const PodInfo& pod) override;
  After after_pre_filter(const PodInfo& pod) override;

  std::unique_ptr<PodState> prepare_deltas(const PodInfo& pod) override;
  std::span<const Row> delta_rows(PodState& state, const PodInfo& pod) override;
  std::uint64_t delta_version(const PodState& state, Row row) const override;
  std::uint64_t delta_key(const PodState& state) const override;
  void apply(const PodState& state, NodeView& view) const override;

  Depends filter_depends() const override { return Depends::pods; }
  Prepared prepare_filter(const PodInfo& pod) override;
  void filter(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
              std::span<VerdictId> out) const override;
  VerdictId filter_view(PodState* state, const NodeTable& nodes, const NodeView& view) const override;

  PostFilterResult post_filter(PodAttempt& attempt, const Diagnosis& diagnosis) override;
  void preempted(const api::Pod& pod, bool all) override;
  bool preempts_itself_for(const PodInfo& placeholder) const override {
    return is_reserve_pod(*placeholder.pod);
  }

  std::unique_ptr<PodState> prepare_cross_node_score(const PodInfo& pod) override;
  bool may_score(PodState& state, const PodInfo& pod) override;
  bool score_few(PodState& state, const PodInfo& pod, const NodeTable& nodes,
                 std::span<const std::int32_t> slots, FewScores& out) override;
  bool pre_score(PodState& state, const PodInfo& pod, const NodeTable& nodes,
                 std::span<const Row> feasible) override;
  void score(PodState& state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int64_t> out) const override;
  void normalize(PodState& state, std::span<const Row> rows, std::span<std::int64_t> scores) const override;

  Status nominate_reservation(PodAttempt& attempt) override;
  Status reserve(PodAttempt& attempt) override;
  void unreserve(PodAttempt& attempt) override;
  bool follows_up(const PodInfo& pod) const override;
  std::shared_ptr<PreBindWork> pre_bind(PodAttempt&) override { return nullptr; }
  void change_pod(PodAttempt& attempt, PodChanges& changes) override;
  std::shared_ptr<PreBindWork> pre_bind_reservation(PodAttempt& attempt) override;
  bool binds(const PodInfo& pod) const override { return is_reserve_pod(*pod.pod); }
  std::shared_ptr<BindWork> bind(PodAttempt& attempt) override;

  EventMask events() const override { return events_; }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override;

  std::unique_ptr<PluginController> make_controller(kube::InformerSet& informers,
                                                    kube::Client& client) override;

  std::optional<Event> event_of_failure(const api::Pod& pod, std::string_view message) const override;
  void measure(metrics::Registry& registry) override { queries_.measure(registry); }
  std::vector<std::string_view> service_paths() const override {
    return {"/nodeReservations/:nodeName", "/reservationSelectorIndex"};
  }
  std::optional<ServiceAnswer> serve(const ServiceRequest& request) const override;

  explain::PodReservations reservations_for(const PodInfo& pod, const Refusals& refusals) const override;
  std::optional<Described> describe(const kube::ObjectType& type, const kube::Object& object,
                                    WallTime now) const override;
  bool is_for(const kube::Object& reservation, const api::Pod& pod) const override;

 private:
  struct FilterState;
  struct ScoreState;
  /// The nodes whose reservations are looked at for a pod; those of others count for nothing, nor in what it
  /// is told.
  struct Looked {
    Symbol node = {};                             // set: this one alone
    const SelectorIndex::Nodes* nodes = nullptr;  // set: these
    bool at(const Symbol& at) const {
      return node.empty() ? nodes == nullptr || nodes->contains(at) : node == at;
    }
  };
  using Reasons = std::vector<std::string>;

  std::string why_not(const PodAttempt& attempt, const Diagnosis& diagnosis) const;
  std::shared_ptr<const Matched> matched(const PodInfo& pod) const;
  std::shared_ptr<const Matched> match_now(const PodInfo& pod) const;
  Looked looked(const Wants& wants) const;
  VerdictId judge_reserve_pod(const FilterState& state, Row row) const;
  Reasons through(const FilterState& state, const Rooms& rooms, const Ledger::Entry& entry,
                  std::vector<std::size_t>& by_node) const;
  VerdictId verdict(FilterState& state, Reasons reasons) const;
  bool parts_serve(const FilterState& state, const NodeView& view, std::string_view reservation) const;
  const Ledger::Entry* best_of(FilterState& state, const NodeView& view,
                               std::span<const Ledger::Entry* const> suited) const;
  const Ledger::Entry* nominate(FilterState& state, const PodInfo& pod, const Matched& matched,
                                Row row) const;
  std::unique_ptr<FilterState> read(const PodInfo& pod) const;
  template <class IsFeasible>
  std::int64_t score_matched(ScoreState& state, const PodInfo& pod, IsFeasible&& is_feasible,
                             FewScores& out) const;

  const PluginContext context_;
  const std::shared_ptr<const ReservePods> kind_ = std::make_shared<ReservePods>();
  ObjectStore<api::Reservation>& objects_;
  Ledger& ledger_;
  const RoomJudges& judges_;
  IgnoredResources ignored_;
  ControllerOptions controls_;
  SelectorIndex index_;
  IndexQueries queries_;
  std::unique_ptr<preemption::Preemptor> preemptor_;  // nullptr: it preempts for nobody
  const bool omits_node_labels_;
  const PreAllocation pre_allocation_;
  EventMask events_;
  const VerdictId no_match_, other_node_, conflict_, unhelpful_;

  /// Of the last pod that was asked about.
  struct Kept {
    std::shared_ptr<const api::Pod> pod;
    std::uint64_t ledger = 0, nodes = 0;
    std::shared_ptr<const Matched> found;
  };
  mutable Kept kept_;
  mutable KeptMatches by_labels_{ledger_, context_};
};

}  // namespace koord::scheduling::reservation
