// NumaHints: see numa_hints.hpp.
#include "koord/scheduling/plugin/numa_hints.hpp"

#include <algorithm>
#include <bit>

#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling {

namespace {

/// By kubelet's rules; the score is Koordinator's.
bool better(const NumaHint& a, const NumaHint& b) {
  if (a.preferred != b.preferred) return a.preferred;
  const int nodes_of_a = std::popcount(a.nodes), nodes_of_b = std::popcount(b.nodes);
  if (nodes_of_a != nodes_of_b) return nodes_of_a < nodes_of_b;
  return a.score != b.score ? a.score > b.score : a.nodes < b.nodes;
}

}  // namespace

std::vector<NumaHint> merge_numa_hints(std::span<const NumaHintList> lists, NumaMask all) {
  std::vector<NumaMask> masks{all};
  bool satisfied = true;
  for (const NumaHintList& list : lists) {
    if (!list.hints) continue;
    if (list.hints->empty()) {
      // Any memory nodes are as bad.
      satisfied = false;
      continue;
    }
    std::vector<NumaMask> both;
    both.reserve(masks.size() * list.hints->size());
    for (const NumaMask mask : masks)
      for (const NumaHint& hint : *list.hints) both.push_back(mask & hint.nodes);
    std::sort(both.begin(), both.end());
    both.erase(std::unique(both.begin(), both.end()), both.end());
    masks = std::move(both);
  }
  std::vector<NumaHint> merged;
  for (const NumaMask mask : masks) {
    if (mask == 0) continue;
    // Whoever can have just this mask has it in the best of all combinations that come to it: with one hint
    // in place of another that has more nodes they still come to it.
    NumaHint best{mask, satisfied, 0}, preferred{mask, satisfied, 0};
    for (const NumaHintList& list : lists) {
      if (!list.hints || list.hints->empty()) continue;
      bool there = false, liked = false;
      std::int64_t most = 0, most_liked = 0;
      for (const NumaHint& hint : *list.hints) {
        if (hint.nodes != mask) continue;
        most = there ? std::max(most, hint.score) : hint.score;
        there = true;
        if (!hint.preferred) continue;
        most_liked = liked ? std::max(most_liked, hint.score) : hint.score;
        liked = true;
      }
      best.score += most;
      preferred.score += most_liked;
      preferred.preferred = preferred.preferred && liked;
    }
    best.preferred = false;
    merged.push_back(preferred.preferred ? preferred : best);
  }
  std::sort(merged.begin(), merged.end(), better);
  return merged;
}

std::shared_ptr<NumaShape> NumaHints::shape(const PodInfo& pod, const NodeTable& nodes) {
  signature_.clear();
  for (const Provider& p : providers_)
    if (!p.plugin->sign(pod, signature_)) return nullptr;
  auto& known = shapes_[signature_.bytes()];
  if (auto shape = known.lock()) return shape;
  std::shared_ptr<NumaShape> shape(new NumaShape(nodes));
  for (const Provider& p : providers_)
    if (auto state = p.hints->prepare_numa_hints(pod)) shape->asked_.push_back({p.hints, std::move(state)});
  if (shape->asked_.empty()) shape = nullptr;
  known = shape;
  if (shapes_.size() < sweep_at_) return shape;
  std::erase_if(shapes_, [](const auto& entry) { return entry.second.expired(); });
  sweep_at_ = 2 * shapes_.size() + 64;
  return shape;
}

void NumaShape::ask(const NodeView& view, NumaMask all, Answer& answer) {
  answer.lists.clear();
  for (const Asked& asked : asked_) asked.hints->numa_hints(*asked.state, view, answer.lists);
  answer.merged = merge_numa_hints(answer.lists, all);
}

const NumaShape::Answer& NumaShape::on(const NodeView& view, NumaMask all) {
  if (!view.plain()) {
    ask(view, all, other_);
    return other_;
  }
  Kept& kept = kept_[view.row()];
  const std::uint64_t version = view.nodes().changes(view.row());
  if (kept.version != version) {
    ask(view, all, kept.answer);
    kept.version = version;
  }
  return kept.answer;
}

}  // namespace koord::scheduling
