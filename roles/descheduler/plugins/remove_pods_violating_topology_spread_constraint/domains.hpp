// Domains: the pods that a constraint spreads, by where they are, and whose going makes them even.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/remove_pods_violating_topology_spread_constraint/constraint.hpp"

namespace koord::descheduler::topology_spread {

struct Domain {
  std::string_view value;
  std::vector<PodPtr> pods;
};

class Domains {
 public:
  /// `pods` are those of one namespace; those that are going count nowhere.
  Domains(const Constraint& constraint, std::span<const NodeView* const> nodes, std::span<const PodPtr> pods,
          const Snapshot& snapshot);

  /// Whether no two differ by more than the constraint allows.
  bool balanced() const;
  /// Fewest pods first; in each those last that go first: not those that may not go, nor those that ask for
  /// certain nodes, the least important of the others.
  void sort(const std::function<bool(const api::Pod&)>& may_go);
  std::span<const Domain> all() const { return domains_; }
  /// The domains with fewer pods than the average.
  std::vector<const NodeView*> nodes_below_average() const;
  /// After sort(): whose going to domains with few pods makes them even; what is moved counts there. Of those
  /// in a domain that has too many the ones that fit go first.
  std::vector<PodPtr> surplus(const std::function<bool(const api::Pod&)>& fits);

 private:
  std::int64_t size(std::size_t i) const { return std::ssize(domains_[i].pods); }
  std::int64_t to_move(std::size_t from, std::size_t to) const;

  const Constraint& constraint_;
  std::span<const NodeView* const> nodes_;
  std::vector<Domain> domains_;  // by value at first
  std::int64_t pods_ = 0;
};

}  // namespace koord::descheduler::topology_spread
