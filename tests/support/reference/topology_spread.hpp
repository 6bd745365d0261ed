// PodTopologySpread, for the scheduler's oracle.
#pragma once

#include "support/reference/matching.hpp"
#include "support/reference/state.hpp"

namespace koord::reference {

/// What the filter knows of one pod's constraints; a value, so that a node can be judged as if pods came or
/// went.
class SpreadFilter {
 public:
  SpreadFilter(const Cluster& cluster, const Config& config, const api::Pod& pod, const State& state);
  bool has_no_say() const { return constraints_.empty(); }
  /// A pod comes to the node (+1) or goes (-1). Whether it is being deleted is not asked here, as in
  /// kube-scheduler.
  void count(const api::Pod& other, const api::Node& node, int change);
  Filtered filter(const api::Node& node) const;

  /// One of the pod's constraints, or of the profile's.
  struct Constraint {
    std::int64_t max_skew;
    Symbol key;
    Selector selector;
    std::int64_t min_domains;
    bool honor_affinity, honor_taints;

    /// The policies let the node's pods count.
    bool includes(const api::Pod& pod, const api::Node& node) const;
  };

 private:
  const api::Pod& pod_;
  std::vector<Constraint> constraints_;
  std::vector<std::map<Symbol, std::int64_t>> counts_;  // of each constraint, by domain
};

RawScores spread_scores(const Cluster& cluster, const Config& config, const api::Pod& pod, const State& state,
                        const Feasible& nodes);
/// `nodes` are those of the scores.
void normalize_spread(const Cluster& cluster, const Config& config, const api::Pod& pod,
                      const Feasible& nodes, std::vector<std::int64_t>& scores);

}  // namespace koord::reference
