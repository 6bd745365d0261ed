// A ClusterNetworkTopology's status: see status.hpp.
#include "scheduling/plugins/coscheduling/topology/status.hpp"

#include <algorithm>

namespace koord::scheduling::coscheduling::topology {

namespace {

api::TopologyInfo info(const Layers& layers, const Tree::Domain& domain) {
  return {Symbol(layers.all[domain.layer].name), domain.name};
}

void describe(const Layers& layers, const Tree& tree, Tree::Id id,
              std::vector<api::ClusterNetworkTopologyDetail>& out) {
  const Tree::Domain& domain = tree[id];
  if (domain.layer == layers.nodes()) return;
  std::vector<Tree::Id> children;
  tree.children_by_name(id, children);
  api::ClusterNetworkTopologyDetail& row = out.emplace_back();
  row.topology_info = info(layers, domain);
  if (domain.parent != Tree::kNone) row.parent_topology_info.emplace(info(layers, tree[domain.parent]));
  row.node_num = static_cast<std::int32_t>(domain.nodes);
  if (children.empty()) return;
  row.child_topology_layer = Symbol(layers.all[domain.layer + 1].name);
  if (domain.layer + 1 == layers.nodes()) return;
  for (const Tree::Id child : children) row.child_topology_names.push_back(tree[child].name);
  for (const Tree::Id child : children) describe(layers, tree, child, out);
}

}  // namespace

std::vector<api::ClusterNetworkTopologyDetail> details(const Layers& layers, const Tree& tree) {
  std::vector<api::ClusterNetworkTopologyDetail> rows;
  describe(layers, tree, Tree::kRoot, rows);
  return rows;
}

}  // namespace koord::scheduling::coscheduling::topology
