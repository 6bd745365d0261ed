// What the oracle's parts share: nodes with their pods, and a filter's answer.
#pragma once

#include <optional>
#include <vector>

#include "koord/api/rules/pod_requests.hpp"
#include "support/reference/evaluate.hpp"

namespace koord::reference {

/// A pod with what it asks for.
struct Counted {
  explicit Counted(const api::Pod& p)
      : pod(&p), requests(api::pod_requests(p)), at_least(api::non_zero_requests(p)) {}
  const api::Pod* pod;
  api::ResourceList requests;
  api::NonZeroRequests at_least;  // 100m and 200 MiB for each container that asks for none
};

struct NodeState {
  const api::Node* node;
  std::vector<Counted> pods;
};
/// In the order of the names.
using State = std::vector<NodeState>;
/// Pods on nodes that are not there count nowhere.
State state_of(const Cluster& cluster);

using Filtered = std::optional<Rejection>;

/// A score before normalisation, of each of the feasible nodes in their order; absent: the plugin has no say.
using RawScores = std::optional<std::vector<std::int64_t>>;
using Feasible = std::vector<const NodeState*>;

/// Of one pod; the plugins that judge a node by itself.
Filtered filter_node(const std::string& plugin, const Config& config, const Counted& pod,
                     const NodeState& node);
RawScores score_nodes(const std::string& plugin, const Config& config, const Counted& pod, const State& all,
                      const Feasible& nodes);
/// Of a plugin of score_nodes(): to 0..100.
void normalize(const std::string& plugin, std::vector<std::int64_t>& scores);

}  // namespace koord::reference
