// What reservations mean for one pod, for the scheduler's oracle: computed anew from the objects.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/reference/state.hpp"

namespace koord::reference {

/// The pod that stands for a reservation, in the queue and on its node. Absent: it is neither queued nor
/// counted.
std::optional<api::Pod> reserve_pod(const api::Reservation& reservation);
/// The reservation's uid, of a pod that stands for one; empty: it is an ordinary pod.
std::string reserves_for(const api::Pod& pod);

/// A reservation on a node.
struct Kept {
  std::shared_ptr<const api::Reservation> object;
  std::shared_ptr<const api::Pod> pod;  // that stands for it
  std::string node;
  bool available = false;         // else it is on its way there
  bool broken = false;            // nobody can read whom it is for
  api::ResourceList has, back;    // back: nobody's
  std::set<std::string> counted;  // names of what its pods have of it
  api::ResourceList taken;
  std::int64_t pods = 0;

  const std::string& name() const { return object->metadata.name; }
  const std::string& uid() const { return object->metadata.uid; }
  bool usable() const;
  /// What is kept for pods to come.
  Counted rest() const;
};
/// All that are on nodes that are there, by uid.
std::map<std::string, Kept> kept_on_nodes(const Cluster& cluster);
/// What the pod has of its reservation: of its requests what the reservation counts.
api::ResourceList masked(const api::ResourceList& requests, const std::set<std::string>& names);

class Reservations {
 public:
  Reservations(const Cluster& cluster, const Config& config, const api::Pod& pod);

  /// Pods that stand for reservations are put on their nodes, but for those that the pod may use.
  void put_on(State& state) const;
  /// Set: the attempt fails with it.
  const std::string& error() const { return error_; }
  /// Set: no node will do.
  std::string rejected() const;
  /// The pod goes to nodes of its reservations alone.
  bool leaves_out(const api::Node& node) const;
  Filtered filter(const NodeState& node) const;
  RawScores scores(const Feasible& nodes) const;
  static void normalize(std::vector<std::int64_t>& scores);
  /// Whose room it gets there, any of these; none: of no reservation.
  std::set<std::string> nominated(const NodeState& node) const;
  /// What is said beside the nodes' reasons, in parts.
  std::multiset<std::string> about(const Answer& answer) const;

 private:
  enum class Fit : unsigned char {
    foreign,
    other_name,
    named,
    closed,
    tainted,
    affinity,
    not_exact,
    matched
  };
  using Mine = std::vector<const Kept*>;

  void read(const api::Pod& pod);
  Fit fit(const Kept& kept, const api::Node& node, std::string* taint = nullptr) const;
  const Mine& on(const api::Node& node) const;
  std::int64_t free(const NodeState& node, const Symbol& resource, const Kept* through) const;
  std::set<std::string> short_of(const NodeState& node, const Kept* through) const;
  std::vector<std::string> lacks(const Kept& kept) const;
  Filtered as_reservation(const api::Node& node) const;
  std::int64_t score(const Kept& kept) const;

  const Cluster& cluster_;
  const Config& config_;
  const api::Pod& pod_;
  std::map<std::string, Kept> all_;
  std::map<std::string, Mine> mine_;  // by node
  api::ResourceList requests_;
  std::string error_;
  bool reserves_ = false;  // it is a reservation itself
  bool ignores_ = false, affinity_ = false;
  std::string wanted_;  // the name of the one
  std::string only_;    // its node: no other is looked at; empty: all are
  std::optional<std::vector<std::string>> exact_;
  api::SymbolMap labels_;  // of the selector
  std::optional<api::List<api::NodeSelectorTerm>> terms_;
  api::Pod tolerating_;  // has the tolerations
};

}  // namespace koord::reference
