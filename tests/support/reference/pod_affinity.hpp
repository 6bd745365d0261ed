// InterPodAffinity, for the scheduler's oracle.
#pragma once

#include "support/reference/matching.hpp"
#include "support/reference/state.hpp"

namespace koord::reference {

/// What the filter knows of one pod's terms and of others' anti-affinity; a value, so that a node can be
/// judged as if pods came or went.
class AffinityFilter {
 public:
  AffinityFilter(const Cluster& cluster, const api::Pod& pod, const State& state);
  /// As of its making, as in kube-scheduler: it stays out of the whole cycle.
  bool has_no_say() const { return no_say_; }
  /// A pod comes to the node (+1) or goes (-1).
  void count(const api::Pod& other, const api::Node& node, int change);
  Filtered filter(const api::Node& node) const;

 private:
  using Domain = std::pair<Symbol, Symbol>;  // key, value
  using Counts = std::map<Domain, std::int64_t>;
  bool matches_all_own_terms(const api::Pod& other) const;

  const Cluster& cluster_;
  const api::Pod& pod_;
  bool no_say_ = false;
  Counts wanted_;    // pods that match all of the pod's affinity terms
  Counts unwanted_;  // pods that match one of its anti-affinity terms
  Counts refusing_;  // others' anti-affinity terms that match the pod
};

RawScores affinity_scores(const Cluster& cluster, const Config& config, const api::Pod& pod,
                          const State& state, const Feasible& nodes);
void normalize_affinity(std::vector<std::int64_t>& scores);

}  // namespace koord::reference
