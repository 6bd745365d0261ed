// Counters: see counters.hpp.
#include "scheduling/plugins/coscheduling/topology/counters.hpp"

#include <utility>

namespace koord::scheduling::coscheduling::topology {

void Counters::begin(const Tree& tree, std::vector<std::int64_t> multiples) {
  tree_ = &tree;
  version_ = tree.version();
  multiples_ = std::move(multiples);
  sums_.assign(tree.size(), 0);
  offers_.assign(tree.size(), 0);
}

void Counters::set(Tree::Id leaf, std::int64_t pods) {
  std::int64_t more = pods - sums_[leaf];
  for (Tree::Id at = leaf; more != 0 && at != Tree::kNone; at = (*tree_)[at].parent) {
    sums_[at] += more;
    const std::size_t layer = (*tree_)[at].layer;
    const std::int64_t offer = cut_to_multiple(sums_[at], layer < multiples_.size() ? multiples_[layer] : 0);
    more = offer - std::exchange(offers_[at], offer);
  }
}

}  // namespace koord::scheduling::coscheduling::topology
