// NodeLoads: what each node uses, as its NodeMetric reports it and as the pods that it does not report yet
// are estimated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/base/clock.hpp"
#include "koord/scheduling/cluster/cluster_observer.hpp"
#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/cluster/object_store.hpp"
#include "scheduling/plugins/load_aware_scheduling/estimate.hpp"

namespace koord::scheduling::load_aware {

/// Kept by row as reports and pods come and go: a change costs its own row alone, and marks it in the node
/// table. What is asked of a row has been added up before. Belongs to the engine's thread.
class NodeLoads final : public ClusterObserver {
 public:
  /// How much of a row's load is known.
  enum class State : std::uint8_t {
    unreported,  // no NodeMetric
    empty,       // one that says nothing of the node
    reported,
  };
  struct Load {
    State state = State::unreported;
    bool expired = false;  // the report is too old, or says no time
    const Thresholds* thresholds = nullptr;
    const std::int64_t* amounts = nullptr;  // four times resources().size()
    std::size_t resources = 0;

    std::span<const std::int64_t> allocatable() const { return {amounts, resources}; }
    /// What prod pods use.
    std::span<const std::int64_t> prod() const { return {amounts + resources, resources}; }
    /// What all use: as thresholds ask, and as scores do.
    std::span<const std::int64_t> compared() const { return {amounts + 2 * resources, resources}; }
    std::span<const std::int64_t> scored() const { return {amounts + 3 * resources, resources}; }
  };
  /// A pod that counts on a row.
  struct Pod {
    const PodInfo* info;
    WallTime since;                    // when it was bound, or assumed
    std::optional<WallTime> deadline;  // see Estimator
    bool prod;
    std::int32_t reported = -1;           // its place among the reported ones
    std::vector<std::int64_t> estimated;  // empty: nothing
  };
  /// What the original calls so: usage of prod pods, what estimates add to what is reported (of all pods, of
  /// prod pods), and all estimates together.
  enum class Part : std::uint8_t { prod_usage, delta, prod_delta, estimated };

  /// The arguments outlive it.
  NodeLoads(const LoadAwareSchedulingArgs& args, NodeTable& nodes, ObjectStore<api::NodeMetric>& metrics,
            const Clock& clock);

  const Resources& resources() const { return resources_; }
  const Estimator& estimator() const { return estimator_; }
  /// Of a row of the table.
  Load load(Row row) const;

  /// When the next report gets too old.
  std::optional<WallTime> next_expiry() const;
  /// Marks those that are by now; `told` is called with each.
  template <class Told>
  void expire(WallTime now, Told&& told) {
    while (!ages_.empty() && ages_.begin()->first <= now) {
      const Row row = ages_.begin()->second;
      ages_.erase(ages_.begin());
      rows_[row].expired = seen_[row].expired = true;
      nodes_.mark(row);
      told(*rows_[row].metric);
    }
  }

  // For those who look into it.
  /// Absent: nothing is known of the node.
  std::optional<Row> find(std::string_view node) const;
  std::span<const Pod> pods(Row row) const { return rows_[row].pods; }
  bool reported(Row row) const { return rows_[row].metric != nullptr; }
  const Amounts& sum(Row row, Part part) const { return rows_[row].sums[static_cast<std::size_t>(part)]; }
  /// Whether an estimate of the pod is in that sum.
  bool adds(Row row, const Pod& pod, Part part) const;

  // ClusterObserver
  void pod_added(Row row, const PodInfo& pod) override;
  void pod_removed(Row row, const PodInfo& pod) override;
  void pod_changed(Row row, const PodInfo& pod) override;
  void node_changed(Row row, const api::Node* before, const api::Node* now) override;

 private:
  struct RowLoad {
    std::shared_ptr<const api::NodeMetric> metric;
    bool expired = false;
    std::optional<WallTime> reported_at;
    nanoseconds interval{0};  // of reports
    std::vector<Pod> pods;    // in the table's order
    /// Of the metric's pods: their places in it, by namespace and name, and what they use.
    std::vector<std::uint32_t> reported;
    std::vector<Amounts> used;               // in the order of `reported`
    std::unique_ptr<Thresholds> thresholds;  // its own
    Amounts allocatable, usage;
    Amounts sums[4];                          // by Part
    std::optional<Amounts> compared, scored;  // aggregated usage; absent: it is not reported
  };

  /// How a pod counts beside what is reported of it.
  struct Share {
    const Amounts* used = nullptr;  // reported; nullptr: nothing is
    bool delta = false;             // its estimate adds to the node's usage, as far as it is more than `used`
    bool prod_used = false;         // what is reported of it is prod pods'
    bool prod_delta = false;        // the same of their usage; more than `used` if prod_used, else all of it
  };

  /// A row's Load, but for its amounts: these and those are all that a look at many rows reads.
  struct Seen {
    State state = State::unreported;
    bool expired = false;
    const Thresholds* thresholds = nullptr;
  };

  void put(const api::NodeMetric* before, const api::NodeMetric* now);
  void report(Row row, std::shared_ptr<const api::NodeMetric> metric);
  static void read_pods(RowLoad& load, const Resources& resources);
  void aggregate(RowLoad& load) const;
  Pod make(const RowLoad& load, const PodInfo& pod) const;
  static std::int32_t find_reported(const RowLoad& load, const api::Pod& pod);
  static Share share(const RowLoad& load, const Pod& pod);
  static void account(RowLoad& load, const Pod& pod, bool take_back);
  void sum_up(Row row);
  const Thresholds& thresholds(const RowLoad& load) const {
    return load.thresholds ? *load.thresholds : defaults_;
  }
  RowLoad& at(Row row);

  const LoadAwareSchedulingArgs& args_;
  NodeTable& nodes_;
  ObjectStore<api::NodeMetric>& metrics_;
  const Clock& clock_;
  Resources resources_;
  Estimator estimator_;
  Thresholds defaults_;
  std::vector<RowLoad> rows_;
  std::vector<Seen> seen_;
  std::vector<std::int64_t> amounts_;        // see Load
  std::set<std::pair<WallTime, Row>> ages_;  // when reports get too old
};

}  // namespace koord::scheduling::load_aware
