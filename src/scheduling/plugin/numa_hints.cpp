// NumaHints: see numa_hints.hpp.
#include "koord/scheduling/plugin/numa_hints.hpp"

#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling {

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

void NumaShape::ask(const NodeView& view, const NumaQuestion& question, Answer& answer) {
  answer.lists.clear();
  for (const Asked& asked : asked_) asked.hints->numa_hints(*asked.state, view, answer.lists);
  answer.choice = choose_numa_nodes(question, answer.lists);
}

const NumaShape::Answer& NumaShape::on(const NodeView& view, const NumaQuestion& question) {
  if (!view.plain()) {
    ask(view, question, other_);
    return other_;
  }
  Kept& kept = kept_[view.row()];
  const std::uint64_t version = view.nodes().changes(view.row());
  if (kept.version != version) {
    ask(view, question, kept.answer);
    kept.version = version;
  }
  return kept.answer;
}

}  // namespace koord::scheduling
