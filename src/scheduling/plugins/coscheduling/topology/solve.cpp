// solve(): see solve.hpp.
#include "scheduling/plugins/coscheduling/topology/solve.hpp"

#include <algorithm>

#include "scheduling/plugins/coscheduling/topology/counters.hpp"

namespace koord::scheduling::coscheduling::topology {

namespace {

std::int64_t at(std::span<const std::int64_t> all, Tree::Id id) { return id < all.size() ? all[id] : 0; }

class Solver {
 public:
  Solver(const Tree& tree, const Ask& ask, const Worth& worth) : tree_(tree), ask_(ask), worth_(worth) {}

  std::optional<Plan> run() {
    std::vector<Tree::Id> candidates = lowest_with_room();
    const auto later = [&](Tree::Id a, Tree::Id b) { return comes_before(tree_, worth_, b, a, true); };
    std::ranges::make_heap(candidates, later);
    while (!candidates.empty()) {
      std::ranges::pop_heap(candidates, later);
      plan_.clear();
      if (fill(candidates.back(), ask_.pods) >= ask_.pods) return std::move(plan_);
      candidates.pop_back();
    }
    return std::nullopt;
  }

 private:
  /// Those of the lowest layer that has any.
  std::vector<Tree::Id> lowest_with_room() const {
    std::vector<Tree::Id> here{Tree::kRoot}, lowest, next;
    for (std::size_t layer = 0; !here.empty(); ++layer) {
      next.clear();
      if (layer >= ask_.gather) {
        std::erase_if(here, [&](Tree::Id id) { return at(worth_.offers, id) < ask_.pods; });
        if (!here.empty()) lowest = here;
      }
      for (const Tree::Id id : here)
        next.insert(next.end(), tree_[id].children.begin(), tree_[id].children.end());
      here.swap(next);
    }
    return lowest;
  }

  /// Puts up to so many into the domain, and says how many.
  std::int64_t fill(Tree::Id id, std::int64_t wanted) {
    const Tree::Domain& domain = tree_[id];
    const std::int64_t most =
        cut_to_multiple(std::min(at(worth_.offers, id), wanted),
                        domain.layer < ask_.multiples.size() ? ask_.multiples[domain.layer] : 0);
    if (most <= 0) return 0;
    if (domain.children.empty()) {
      plan_.emplace_back(id, most);
      return most;
    }
    std::vector<Tree::Id> children;
    for (const Tree::Id child : domain.children)
      if (at(worth_.offers, child) > 0) children.push_back(child);
    std::ranges::sort(children,
                      [&](Tree::Id a, Tree::Id b) { return comes_before(tree_, worth_, a, b, false); });
    std::int64_t filled = 0;
    for (const Tree::Id child : children) {
      if (filled == most) break;
      filled += fill(child, most - filled);
    }
    return filled;
  }

  const Tree& tree_;
  const Ask& ask_;
  const Worth& worth_;
  Plan plan_;
};

}  // namespace

Wishes read_wishes(const api::NetworkTopologySpec& spec, const Layers& layers) {
  Wishes wishes;
  wishes.ask.multiples.assign(layers.all.size(), 0);
  bool must = false, found = false;
  for (const api::NetworkTopologyGatherRule& rule : spec.gather_strategy) {
    const bool gathers = rule.strategy == "MustGather";
    must = must || gathers;
    if (!gathers && rule.strategy != "PreferGather") wishes.strategies.push_back(rule.strategy.str());
    const std::optional<std::size_t> layer = layers.find(rule.layer.view());
    if (!layer) {
      wishes.unknown.push_back(rule.layer.str());
      continue;
    }
    if (gathers) {
      found = true;
      wishes.ask.gather = std::max(wishes.ask.gather, *layer);
    }
    if (rule.pod_count_multiple.value_or(0) > 1) wishes.ask.multiples[*layer] = *rule.pod_count_multiple;
  }
  wishes.impossible = must && !found;
  return wishes;
}

bool comes_before(const Tree& tree, const Worth& worth, Tree::Id a, Tree::Id b, bool fewer_first) {
  // Of two values along the ways to the cluster: the first that differ decide.
  const auto differ = [&](std::span<const std::int64_t> values) {
    for (Tree::Id x = a, y = b; x != y && x != Tree::kNone && y != Tree::kNone;
         x = tree[x].parent, y = tree[y].parent)
      if (at(values, x) != at(values, y)) return at(values, x) < at(values, y) ? -1 : 1;
    return 0;
  };
  if (const int more = differ(worth.existing); more != 0) return more > 0;
  if (const int more = differ(worth.offers); more != 0) return (more < 0) == fewer_first;
  if (at(worth.scores, a) != at(worth.scores, b)) return at(worth.scores, a) > at(worth.scores, b);
  for (Tree::Id x = a, y = b; x != y && x != Tree::kNone && y != Tree::kNone;
       x = tree[x].parent, y = tree[y].parent)
    if (tree[x].name != tree[y].name) return tree[x].name < tree[y].name;
  return false;
}

std::optional<Plan> solve(const Tree& tree, const Ask& ask, const Worth& worth) {
  return Solver(tree, ask, worth).run();
}

}  // namespace koord::scheduling::coscheduling::topology
