// Plugins that reach over rows: verdicts and scores that follow from pods on other rows, from other objects,
// or from the one pod that is tried.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/cluster/node_view.hpp"
#include "koord/scheduling/plugin/plugin_base.hpp"
#include "koord/scheduling/plugin/status_code.hpp"
#include "koord/scheduling/plugin/verdict.hpp"

namespace koord::scheduling {

/// What is said before the rows are looked at: kube-scheduler's PreFilter, in each cycle.
struct PreFiltered {
  bool skip = false;     // every node passes; the plugin is not asked again in this cycle
  std::string rejected;  // set: no node can do, and this is why
  StatusCode code = StatusCode::unresolvable;  // of `rejected`: this, unschedulable or error
};

/// A filter over rows. Rows come ascending and hold nodes; where most nodes are asked about, whole runs of
/// rows follow one another. Asked only about rows that no filter before it in the profile rejects.
class CrossNodeFilterPlugin {
 public:
  virtual ~CrossNodeFilterPlugin() = default;
  /// Once for a class; what is made stays with the class, is shared by its pods, and may go and be made again
  /// between cycles. What changes from cycle to cycle is renewed by pre_filter().
  virtual std::unique_ptr<PodState> prepare_cross_node_filter(const PodInfo& pod) = 0;
  /// In each cycle, before anything else is asked of the state. It costs little if nothing changed.
  virtual PreFiltered pre_filter(PodState& state, const PodInfo& pod) = 0;
  /// out[i] = verdict on rows[i], kPass if the pod may go there.
  virtual void filter(PodState& state, const NodeTable& nodes, std::span<const Row> rows,
                      std::span<VerdictId> out) const = 0;

  // kube-scheduler's PreFilterExtensions: from now on it is as if `other` were on the row too, or were not,
  // for filter() on that row. Each is undone by its opposite before the cycle ends or pre_filter() is called
  // again; neither is called when the plugin skips.
  virtual void add_pod(PodState& state, const PodInfo& pod, const PodInfo& other, Row row) = 0;
  virtual void remove_pod(PodState& state, const PodInfo& pod, const PodInfo& other, Row row) = 0;
};

/// Final scores, 0 to 100, of some rows, ascending; all other rows have 0.
struct FewScores {
  std::vector<Row> rows;
  std::vector<std::int32_t> scores;  // of each
};

/// A score over rows: raw scores of 64 bits, with a normalisation of its own.
class CrossNodeScorePlugin {
 public:
  virtual ~CrossNodeScorePlugin() = default;
  /// As prepare_cross_node_filter().
  virtual std::unique_ptr<PodState> prepare_cross_node_score(const PodInfo& pod) = 0;
  /// Asked first, in each cycle: false: the plugin has no say in it, whichever rows are feasible. It costs
  /// little.
  virtual bool may_score(PodState&, const PodInfo&) { return true; }
  /// In place of all that follows, for who keeps his scores from cycle to cycle and has a say about few rows:
  /// what normalize() would leave. `slots`: by row, negative where it is not feasible. False: ask
  /// pre_score().
  virtual bool score_few(PodState&, const PodInfo&, const NodeTable&, std::span<const std::int32_t> /*slots*/,
                         FewScores& /*out*/) {
    return false;
  }
  /// Whether kube-scheduler's plugin is named at preScore, too; pre_score() is asked in any case.
  virtual bool is_named_at_pre_score() const { return true; }
  /// kube-scheduler's PreScore, in each cycle that comes so far, with all rows that will be scored,
  /// ascending. False: the plugin has no say in this cycle and is not asked again.
  virtual bool pre_score(PodState& state, const PodInfo& pod, const NodeTable& nodes,
                         std::span<const Row> feasible) = 0;
  /// out[i] = the raw score of rows[i]. The rows are those of pre_score(), maybe in several blocks.
  virtual void score(PodState& state, const NodeTable& nodes, std::span<const Row> rows,
                     std::span<std::int64_t> out) const = 0;
  /// Makes 0..100 of the raw scores of all rows of pre_score(), in place.
  virtual void normalize(PodState& state, std::span<const Row> rows,
                         std::span<std::int64_t> scores) const = 0;
};

/// A filter that differs from pod to pod within a class (by the claims of its volumes): asked for each pod
/// anew, only about rows that no filter before it rejects. What it reads is not signed.
class PerPodFilterPlugin {
 public:
  virtual ~PerPodFilterPlugin() = default;
  /// In each cycle. The state belongs to this attempt of this pod; nullptr: every node passes. From Reserve
  /// on the attempt keeps it for the plugin, which need not be asked about pods without one.
  virtual std::unique_ptr<PodState> pre_filter_pod(const PodInfo& pod, PreFiltered& said) = 0;
  /// As CrossNodeFilterPlugin::filter().
  virtual void filter_pod(PodState& state, const NodeTable& nodes, std::span<const Row> rows,
                          std::span<VerdictId> out) const = 0;
  /// The verdict on the view's row as it would be: kube-scheduler's PreFilterExtensions.
  /// To be written by what depends on pods.
  virtual VerdictId filter_pod_view(PodState& state, const NodeTable& nodes, const NodeView& view) const {
    const Row row = view.row();
    VerdictId verdict = kPass;
    filter_pod(state, nodes, {&row, 1}, {&verdict, 1});
    return verdict;
  }
};

}  // namespace koord::scheduling
