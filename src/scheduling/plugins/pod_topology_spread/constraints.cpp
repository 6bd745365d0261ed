// Topology spread constraints: see constraints.hpp.
#include "scheduling/plugins/pod_topology_spread/constraints.hpp"

namespace koord::scheduling::pod_topology_spread {

std::vector<Constraint> read(std::span<const api::TopologySpreadConstraint> constraints,
                             const api::SymbolMap& labels, std::string_view action) {
  std::vector<Constraint> all;
  for (const api::TopologySpreadConstraint& c : constraints) {
    if (c.when_unsatisfiable != action) continue;
    Constraint& made = all.emplace_back();
    made.max_skew = c.max_skew;
    made.min_domains = c.min_domains.value_or(1);
    made.key = c.topology_key;
    made.honor_affinity = c.node_affinity_policy.empty() || c.node_affinity_policy == "Honor";
    made.honor_taints = c.node_taints_policy == "Honor";
    if (!c.label_selector) continue;
    made.selector = *c.label_selector;
    for (const Symbol& key : c.match_label_keys)
      if (const Symbol* value = labels.find(key))
        made.selector->match_expressions.push_back({key, "In", {*value}});
  }
  return all;
}

Result<api::Selector> selector_of(const Constraint& constraint) {
  return api::Selector::from(constraint.selector ? &*constraint.selector : nullptr);
}

}  // namespace koord::scheduling::pod_topology_spread
