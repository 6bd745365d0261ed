// Constraint: what a pod's topology spread constraint asks, the same for all pods that ask it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/plugin.hpp"
#include "koord/api/rules/node_selector.hpp"
#include "koord/api/rules/selector.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::descheduler::topology_spread {

class Constraint {
 public:
  /// The error is that of a selector that cannot be read. `asked` is one of the pod's.
  static Result<Constraint> make(const api::TopologySpreadConstraint& asked, const api::Pod& pod);

  /// Equal for constraints that ask the same.
  const std::string& name() const { return name_; }
  std::int64_t max_skew() const { return max_skew_; }
  /// Whether the pod is one of those that are spread.
  bool means(const api::Pod& pod) const { return selector_.matches(pod.metadata.labels); }
  /// The node's value of the topology, nothing where it is in none.
  std::optional<std::string_view> domain_of(const api::Node& node) const;
  /// Whether pods are to be spread over this node, too: by the policies for its labels and taints.
  bool includes(const api::Node& node) const;

 private:
  std::string name_, topology_key_;
  std::int64_t max_skew_ = 0;
  api::Selector selector_;
  std::optional<api::RequiredNodeAffinity> affinity_;        // if it is honoured
  std::optional<std::vector<api::Toleration>> tolerations_;  // if taints are
};

}  // namespace koord::descheduler::topology_spread
