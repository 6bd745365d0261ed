// See domains.hpp.
#include "plugins/remove_pods_violating_topology_spread_constraint/domains.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "koord/api/types/core_v1/node.hpp"

namespace koord::descheduler::topology_spread {

namespace {

bool asks_for_nodes(const api::Pod& pod) {
  return !pod.spec.node_selector.empty() || (pod.spec.affinity && pod.spec.affinity->node_affinity);
}

/// Rounded up; the divisor is positive.
std::int64_t divide_up(std::int64_t number, std::int64_t by) {
  return number > 0 ? (number + by - 1) / by : -(-number / by);
}

}  // namespace

Domains::Domains(const Constraint& constraint, std::span<const NodeView* const> nodes,
                 std::span<const PodPtr> pods, const Snapshot& snapshot)
    : constraint_(constraint), nodes_(nodes) {
  std::map<std::string_view, std::vector<PodPtr>> by_value;
  for (const NodeView* node : nodes)
    if (const auto value = constraint.domain_of(*node->node); value && constraint.includes(*node->node))
      by_value[*value];
  for (const PodPtr& pod : pods) {
    if (pod->metadata.deletion_timestamp || !constraint.means(*pod)) continue;
    const NodeView* const node = snapshot.node(pod->spec.node_name.view());
    const auto value = node != nullptr ? constraint.domain_of(*node->node) : std::nullopt;
    if (!value) continue;
    by_value[*value].push_back(pod);
    ++pods_;
  }
  for (auto& [value, of] : by_value) domains_.push_back({value, std::move(of)});
}

bool Domains::balanced() const {
  if (domains_.empty()) return true;
  const auto [least, most] = std::ranges::minmax(domains_, {}, [](const Domain& d) { return d.pods.size(); });
  return std::ssize(most.pods) - std::ssize(least.pods) <= constraint_.max_skew();
}

void Domains::sort(const std::function<bool(const api::Pod&)>& may_go) {
  using Key = std::tuple<bool, bool, bool, std::int64_t>;
  for (Domain& domain : domains_) {
    std::vector<std::pair<Key, PodPtr>> keyed;
    for (PodPtr& pod : domain.pods) {
      const Key key(may_go(*pod), !asks_for_nodes(*pod), !pod->spec.priority.has_value(),
                    -std::int64_t{pod->spec.priority.value_or(0)});
      keyed.emplace_back(key, std::move(pod));
    }
    std::ranges::stable_sort(keyed, {}, [](const auto& each) { return each.first; });
    for (std::size_t i = 0; i < keyed.size(); ++i) domain.pods[i] = std::move(keyed[i].second);
  }
  std::ranges::stable_sort(domains_, {}, [](const Domain& domain) { return domain.pods.size(); });
}

std::vector<const NodeView*> Domains::nodes_below_average() const {
  std::set<std::string_view> below;
  for (const Domain& domain : domains_)
    if (std::ssize(domain.pods) * std::ssize(domains_) < pods_) below.insert(domain.value);
  std::vector<const NodeView*> nodes;
  for (const NodeView* node : nodes_)
    if (const auto value = constraint_.domain_of(*node->node);
        value && below.contains(*value) && constraint_.includes(*node->node))
      nodes.push_back(node);
  return nodes;
}

std::int64_t Domains::to_move(std::size_t from, std::size_t to) const {
  const std::int64_t count = std::ssize(domains_), skew = size(from) - size(to);
  if (skew <= constraint_.max_skew()) return 0;
  const std::int64_t above = divide_up(size(from) * count - pods_, count);
  const std::int64_t below = divide_up(pods_ - size(to) * count, count);
  return std::min({above, below, divide_up(skew - constraint_.max_skew(), 2)});
}

std::vector<PodPtr> Domains::surplus(const std::function<bool(const api::Pod&)>& fits) {
  std::vector<PodPtr> moved;
  std::unordered_map<const api::Pod*, bool> known;
  const auto fits_known = [&](const PodPtr& pod) {
    const auto [it, added] = known.try_emplace(pod.get(), false);
    if (added) it->second = fits(*pod);
    return it->second;
  };
  std::size_t few = 0, many = domains_.empty() ? 0 : domains_.size() - 1;
  while (few < many) {
    if (size(many) * std::ssize(domains_) <= pods_) --many;
    const std::int64_t count = to_move(many, few);
    if (count <= 0) {
      ++few;
      continue;
    }
    std::vector<PodPtr>& from = domains_[many].pods;
    std::ranges::stable_sort(from, {}, fits_known);
    const auto first = from.end() - count;
    moved.insert(moved.end(), first, from.end());
    domains_[few].pods.insert(domains_[few].pods.end(), first, from.end());
    from.erase(first, from.end());
  }
  return moved;
}

}  // namespace koord::descheduler::topology_spread
