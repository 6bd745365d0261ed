// rank(): see rank.hpp.
#include "scheduling/plugins/coscheduling/topology/rank.hpp"

#include <algorithm>

#include "koord/api/koordinator/gang.hpp"
#include "scheduling/plugins/coscheduling/topology/solve.hpp"

namespace koord::scheduling::coscheduling::topology {

std::string_view selector_of(const api::ObjectMeta& meta) {
  const Symbol* const selector = meta.annotations.find(api::kNetworkTopologySelector);
  return selector != nullptr ? selector->view() : std::string_view();
}

void rank(const NetworkTopology& network, std::string_view selector, const NodeTable& nodes,
          std::span<const Row> rows, std::vector<std::int64_t>& out) {
  const Tree& tree = network.tree();
  std::vector<std::int64_t> offers(tree.size());
  for (const Row row : rows)
    for (Tree::Id at = network.leaf(row); at != Tree::kNone; at = tree[at].parent) ++offers[at];
  const std::vector<std::int64_t> existing = network.existing(selector);
  const Worth worth{offers, existing, {}};
  std::vector<Row> order(rows.begin(), rows.end());
  std::ranges::sort(order, [&](Row a, Row b) {
    const Tree::Id x = network.leaf(a), y = network.leaf(b);
    if (x == Tree::kNone || y == Tree::kNone)
      return x == y ? nodes.name(a).view() < nodes.name(b).view() : y == Tree::kNone;
    return comes_before(tree, worth, x, y, true);
  });
  for (std::size_t place = 0; place < order.size(); ++place) {
    if (out.size() <= order[place]) out.resize(order[place] + 1);
    out[order[place]] = static_cast<std::int64_t>(place);
  }
}

}  // namespace koord::scheduling::coscheduling::topology
