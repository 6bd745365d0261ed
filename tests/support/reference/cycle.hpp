// One pod's way through kube-scheduler's filters, for the scheduler's oracle.
#pragma once

#include "support/reference/pod_affinity.hpp"
#include "support/reference/topology_spread.hpp"
#include "support/reference/volume_binding.hpp"
#include "support/reference/volumes.hpp"

namespace koord::reference {

class Claims;
class Devices;
class Numa;
class Reservations;

/// What plugins say of the pod, nullptr: nobody has a say about that.
struct Says {
  const Reservations* reservations = nullptr;
  const Numa* numa = nullptr;
  const Devices* devices = nullptr;
  const Claims* claims = nullptr;
};

/// What PreFilter leaves behind. A copy can be asked about a node as if pods came or went.
class Cycle {
 public:
  /// What `says` refers to outlives the cycle.
  Cycle(const Cluster& cluster, const Config& config, const api::Pod& pod, const State& state,
        const Says& says = {});

  /// Set: no node is looked at, because of this plugin.
  const std::string& rejected() const { return rejected_; }
  const std::string& rejected_by() const { return rejected_by_; }
  /// Set: the attempt fails with it.
  const std::string& error() const { return error_; }
  /// PreFilter left this node out.
  bool leaves_out(const api::Node& node) const;
  /// What is said of such nodes, and whose events may change it; empty: nobody's.
  std::string left_out() const;
  std::string left_out_by() const { return named_ ? "" : "Reservation"; }
  void add(const api::Pod& other, NodeState& node);
  void remove(const api::Pod& other, NodeState& node);
  /// With the pods that are nominated to it and yield to nobody, and without them.
  Filtered filter(const NodeState& node) const;

 private:
  void name_nodes();
  void count(const api::Pod& other, const api::Node& node, int change);
  Filtered filter_as_it_is(const NodeState& node) const;

  const Cluster& cluster_;
  const Config& config_;
  Counted pod_;
  SpreadFilter spread_;
  AffinityFilter affinity_;
  VolumeFilters volumes_;
  const Reservations* reservations_;  // nullptr as above
  const Numa* numa_;
  const Devices* devices_;
  const Claims* claims_;
  std::shared_ptr<const VolumeBinding> binding_;  // of copies the same: pods on nodes do not change it
  std::string rejected_, rejected_by_, error_;
  std::optional<std::set<Symbol>> named_;  // the only nodes to look at
};

}  // namespace koord::reference
