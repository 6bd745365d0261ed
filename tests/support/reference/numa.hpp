// What NodeNUMAResource means for one pod, for the scheduler's oracle: computed anew from the objects, with a
// trial for each set of memory nodes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/reference/numa_cpus.hpp"
#include "support/reference/numa_hints.hpp"

namespace koord::reference {

class Numa {
 public:
  Numa(const Cluster& cluster, const Config& config, const api::Pod& pod);

  /// Set: the attempt fails with it.
  const std::string& error() const { return error_; }
  /// Set: no node will do.
  const std::string& rejected() const { return rejected_; }
  Filtered filter(const NodeState& node) const;
  RawScores scores(const Feasible& nodes) const;
  /// What it is given on a node that takes it; absent: it is none of this plugin's there.
  std::optional<NumaGift> gift(const NodeState& node) const;
  /// How its CPUs are bound there, and whether they have to be; "": they are not.
  std::string binding(const NodeState& node, bool& required) const;

 private:
  /// The pod on one machine.
  struct Case {
    Case(const Cluster& cluster, const Numa& pod, const api::Node& node);
    bool is_concerned() const { return bound || !policy.empty(); }

    Machine machine;
    std::string policy, bind;  // bind: how its CPUs lie, where it is bound
    bool bound = false, required = false;
    Cpus usable;  // of what is free
    Zones left;
  };
  struct Trial {
    std::vector<std::string> reasons;  // none: it may be had
    NumaGift gift;
  };
  using Amounts = std::map<std::string, std::int64_t>;

  void read(const Config& config, const api::Pod& pod);
  const Case& on(const api::Node& node) const;
  Filtered judge(const NodeState& node, const Case& on) const;
  bool lacks_amplified(const NodeState& node, const Case& on) const;
  Trial try_on(const Case& on, std::optional<NodeSet> nodes) const;
  std::optional<std::string> distribute(const Case& on, NodeSet nodes, const std::string& resource,
                                        Zones& shares) const;
  std::string bind_cpus(const Case& on, NumaGift& gift) const;
  Hints hints(const Case& on) const;
  const Chosen& choose(const Case& on, const api::Node& node) const;
  std::optional<NodeSet> had(const Machine& machine) const;
  std::int64_t score(const NodeState& node) const;
  std::int64_t score(bool most, const Amounts& used, const Amounts& has, const Amounts& asked) const;
  Amounts asked_for(const Case& on) const;

  const Cluster& cluster_;
  std::string default_strategy_;
  bool most_ = false, zones_most_ = false;
  std::vector<std::pair<std::string, std::int64_t>> scored_;
  std::string error_, rejected_;
  Amounts asks_;  // none is zero
  std::int64_t cpu_ = 0;
  bool binds_ = false, apart_ = false;
  std::string required_, preferred_, exclusive_, written_exclusive_, policy_;
  std::optional<NumaGift> again_;  // this and nothing else: its hint wants what it had
  mutable std::map<std::string, Case> cases_;
  mutable std::map<std::string, Chosen> chosen_;
};

}  // namespace koord::reference
