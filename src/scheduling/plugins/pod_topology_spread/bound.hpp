// Constraints of a pod bound to the cluster: to keys, selectors and counts. What prepare makes of them and
// what is renewed in each cycle.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/plugins/pod_topology_spread/constraints.hpp"
#include "scheduling/plugins/pod_topology_spread/counts.hpp"

namespace koord::scheduling::pod_topology_spread {

/// What bound constraints read; outlives them.
struct Cluster {
  NodeTable& nodes;
  TopologyTable& topology;
  PodSelectors& selectors;
  SpreadCounts& counts;
};

/// A selector with what it is asked: kube-scheduler counts nothing for one that selects all, but lets it
/// select the pod itself.
struct BoundSelector {
  PodSelectorRef counted;
  bool all = false;

  static Result<BoundSelector> of(PodSelectors& selectors, const Symbol& name_of_namespace,
                                  const api::LabelSelector* selector);
  bool selects(const PodSelectors& selectors, const api::Pod& pod) const;
};

/// The constraints that a filter keeps.
class HardConstraints {
 public:
  /// All counted with one selector if there is one, else with their own.
  static Result<HardConstraints> bind(const Cluster& cluster, const PodInfo& pod,
                                      std::span<const Constraint> constraints,
                                      const api::LabelSelector* selector);
  bool empty() const { return bound_.empty(); }
  /// In each cycle, before filter().
  void begin(const Cluster& cluster, const api::Pod& pod);
  void filter(std::span<const Row> rows, VerdictId missing_label, VerdictId too_skewed,
              std::span<VerdictId> out) const;
  /// As if so many pods like `other` more were on the row, until begin().
  void add(const Cluster& cluster, const api::Pod& pod, const api::Pod& other, Row row, int sign);

 private:
  struct Bound {
    std::int32_t max_skew, min_domains;
    TopologyRef key;
    BoundSelector selector;
    Ref<DomainCounts> counts;
    // Of the cycle.
    bool self = false;      // the pod counts itself
    std::int64_t most = 0;  // pods in a domain that the pod may still go to
    std::span<const DomainId> domains;
    std::span<const std::uint32_t> column;
    struct More {
      DomainId domain;
      std::int32_t pods;
    };
    std::vector<More> more;  // by add()
  };
  static std::int64_t most(const Bound& bound, std::int64_t least);
  static std::int64_t count(const Bound& bound, DomainId domain);
  static std::int64_t least(const Bound& bound);

  std::vector<Bound> bound_;
};

/// The constraints that a score prefers to keep.
class SoftConstraints {
 public:
  /// `need_all`: nodes without one of the keys get no score and do not count.
  static Result<SoftConstraints> bind(const Cluster& cluster, const PodInfo& pod,
                                      std::span<const Constraint> constraints,
                                      const api::LabelSelector* selector, bool need_all);
  bool empty() const { return bound_.empty(); }
  /// In each cycle, before score(), with all rows that will be scored.
  void begin(const Cluster& cluster, std::span<const Row> feasible);
  void score(std::span<const Row> rows, std::span<std::int64_t> out) const;
  void normalize(std::span<const Row> rows, std::span<std::int64_t> scores) const;

 private:
  struct Bound {
    std::int32_t max_skew;
    TopologyRef key;
    Ref<RowCounts> rows;              // of a hostname: what is on the node itself counts; else
    Ref<DomainCounts> counts;         // of the domain
    std::vector<std::uint32_t> seen;  // by domain, the cycle in which a feasible node of it was seen
    // Of the cycle.
    double weight = 0;
    std::span<const DomainId> domains;
    std::span<const std::uint32_t> column;
    std::vector<double> parts;  // by domain; the last is of nodes without
  };
  bool scored(Row row) const;
  std::size_t sizes(Bound& bound, std::span<const Row> feasible, std::uint32_t nodes);
  std::uint32_t unlabelled(const Bound& bound, const NodeTable& nodes) const;

  std::vector<Bound> bound_;
  bool need_all_ = true;
  bool all_scored_ = true;  // of the cycle
  std::uint32_t cycle_ = 0;
};

}  // namespace koord::scheduling::pod_topology_spread
