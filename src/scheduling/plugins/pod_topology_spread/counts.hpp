// How many pods that a selector selects are on each row and in each domain: kept once for all constraints
// that ask the same, as pods come and go and nodes change.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "koord/scheduling/cluster/cluster_observer.hpp"
#include "koord/scheduling/cluster/pod_selectors.hpp"
#include "koord/scheduling/cluster/topology.hpp"
#include "scheduling/plugins/pod_topology_spread/ref_cache.hpp"

namespace koord::api {
class RequiredNodeAffinity;
struct Pod;
}  // namespace koord::api

namespace koord::scheduling::pod_topology_spread {

class DomainCounts;
class Placement;

/// Which nodes count: kube-scheduler's node inclusion policies.
class Inclusion final : public RefCached<Inclusion>, public TopologyKey::Observer {
 public:
  struct Policy {
    std::vector<TopologyRef> keys;  // nodes with all these labels, each key once
    /// nullptr: whether the pod may go there does not matter.
    std::shared_ptr<const api::RequiredNodeAffinity> affinity;
    /// Whose tolerations a node's taints must meet; nullptr: taints do not matter.
    std::shared_ptr<const api::Pod> tolerating;
  };
  Inclusion(const NodeTable& nodes, Policy policy);
  Inclusion(const Inclusion&) = delete;
  Inclusion& operator=(const Inclusion&) = delete;
  ~Inclusion() override;

  /// All nodes that have a domain of the only key that there is to ask for.
  bool trivial() const { return policy_.keys.size() <= 1 && !reads_nodes(); }
  bool includes(Row row) const { return row < included_.size() && included_[row]; }
  /// Its node counts if it has the labels.
  bool admits(Row row) const { return !reads_nodes() || (row < admitted_.size() && admitted_[row]); }
  std::size_t bytes() const;

  /// After the topology was told. nullptr: the row holds no node.
  void node_changed(Row row, const api::Node* now);
  void domain_changed(const TopologyKey& key, Row row, DomainId from, DomainId to) override;

 private:
  friend Placement;
  bool reads_nodes() const { return policy_.affinity != nullptr || policy_.tolerating != nullptr; }
  bool admits(const api::Node& node) const;
  void check(Row row);

  Policy policy_;
  std::vector<bool> admitted_, included_;  // by row; unused if trivial
  std::vector<Placement*> readers_;
};

/// The pods of one selector on each row, without those that are being deleted.
class RowCounts final : public RefCached<RowCounts>, public SelectionObserver {
 public:
  explicit RowCounts(PodSelectorRef selector);
  RowCounts(const RowCounts&) = delete;
  RowCounts& operator=(const RowCounts&) = delete;
  ~RowCounts() override { selector_->forget(*this); }

  std::uint32_t operator[](Row row) const { return row < counts_.size() ? counts_[row] : 0; }
  /// By row, for at least so many rows; empty: there are no pods.
  std::span<const std::uint32_t> column(std::size_t rows);
  std::size_t bytes() const { return sizeof *this + counts_.capacity() * sizeof counts_[0]; }
  void selection_changed(const PodSelector& selector, Row row, PodCount by) override;

 private:
  friend DomainCounts;
  PodSelectorRef selector_;
  std::vector<std::uint32_t> counts_;  // empty: none anywhere
  std::vector<DomainCounts*> readers_;
};

/// In which domain of a key each row counts.
class Placement final : public RefCached<Placement>, public TopologyKey::Observer {
 public:
  Placement(const NodeTable& nodes, TopologyRef key, Ref<Inclusion> inclusion);
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;
  ~Placement() override;

  /// kNoDomain: in none.
  DomainId of(Row row) const {
    return whole_ ? key_->domain(row) : row < places_.size() ? places_[row] : kNoDomain;
  }
  /// With a node that counts.
  std::uint32_t domains() const { return domains_; }
  const Inclusion& inclusion() const { return *inclusion_; }
  std::size_t bytes() const;
  void domain_changed(const TopologyKey& key, Row row, DomainId from, DomainId to) override;

 private:
  friend Inclusion;
  friend DomainCounts;
  void place(Row row);
  void move(Row row, DomainId from, DomainId to);

  TopologyRef key_;
  Ref<Inclusion> inclusion_;
  bool whole_;                        // all nodes with the key count
  std::vector<DomainId> places_;      // by row; unused if whole
  std::vector<std::uint32_t> nodes_;  // by domain: those that count
  std::uint32_t domains_ = 0;
  std::vector<DomainCounts*> readers_;
};

/// The pods of one selector in each domain, and the fewest.
class DomainCounts final : public RefCached<DomainCounts> {
 public:
  /// Of a domain without nodes that count.
  static constexpr std::uint32_t kAbsent = UINT32_MAX;

  DomainCounts(Ref<RowCounts> rows, Ref<Placement> placement);
  DomainCounts(const DomainCounts&) = delete;
  DomainCounts& operator=(const DomainCounts&) = delete;
  ~DomainCounts();

  const Placement& placement() const { return *placement_; }
  const RowCounts& rows() const { return *rows_; }
  std::uint32_t operator[](DomainId domain) const {
    return domain < counts_.size() ? counts_[domain] : kAbsent;
  }
  /// By domain, for all numbers of the key.
  std::span<const std::uint32_t> column();
  /// Of all domains with nodes that count, of all but one; kAbsent: there is none.
  std::uint32_t least() const;
  std::uint32_t least_but(DomainId domain) const;
  std::size_t bytes() const { return sizeof *this + counts_.capacity() * sizeof counts_[0]; }

 private:
  friend Placement;
  friend RowCounts;
  void counted(Row row, std::int32_t by);
  void moved(Row row, DomainId from, DomainId to);
  void set(DomainId domain, std::uint32_t count);

  Ref<RowCounts> rows_;
  Ref<Placement> placement_;
  std::vector<std::uint32_t> counts_;
  // Found when they are asked for: the least, in how many domains, and the least of the others.
  mutable std::uint32_t least_ = kAbsent, domains_with_least_ = 0, next_ = kAbsent;
  mutable bool least_known_ = false, next_known_ = false;
};

/// All of them, for all profiles. What nobody reads is remembered by age, in a share of the nodes' memory.
class SpreadCounts final : public ClusterObserver {
 public:
  explicit SpreadCounts(NodeTable& nodes) : nodes_(nodes) { nodes.observe(*this); }
  SpreadCounts(const SpreadCounts&) = delete;
  SpreadCounts& operator=(const SpreadCounts&) = delete;

  Ref<RowCounts> rows(const PodSelectorRef& selector);
  /// `text` says what the policy is: equal texts, equal policies.
  Ref<Inclusion> inclusion(std::string_view text, Inclusion::Policy policy);
  Ref<DomainCounts> domains(const PodSelectorRef& selector, const TopologyRef& key,
                            const Ref<Inclusion>& inclusion);

  void pod_added(Row, const PodInfo&) override {}
  void pod_removed(Row, const PodInfo&) override {}
  void node_changed(Row row, const api::Node* before, const api::Node* now) override;

  /// How many there are of all kinds.
  std::size_t size() const {
    return rows_.size() + inclusions_.size() + placements_.size() + domains_.size();
  }

 private:
  std::size_t limit() const;

  const NodeTable& nodes_;
  RefCache<RowCounts> rows_;
  RefCache<Inclusion> inclusions_;
  RefCache<Placement> placements_;
  RefCache<DomainCounts> domains_;
};

}  // namespace koord::scheduling::pod_topology_spread
