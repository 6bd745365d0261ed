// See cordon.hpp.
#include "drain/cordon.hpp"

#include <algorithm>
#include <vector>

#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/koordinator/drain.hpp"

namespace koord::descheduler::drain {
namespace {

constexpr std::string_view kNoSchedule = "NoSchedule";

void add_labels(api::Node& node, const api::DrainNode& drain) {
  api::DrainCordonLabels mine;
  if (auto said = api::read_annotation<api::DrainCordonLabels>(node.metadata.annotations); !said)
    return;  // somebody else's doing: it cannot be told what would have to be undone
  else if (*said)
    mine = std::move(**said);
  if (!mine.drain_node.empty() && mine.drain_node != drain.metadata.name) return;
  mine.drain_node = drain.metadata.name;
  for (const auto& [key, value] : drain.spec.cordon_policy->labels) {
    const Symbol* const there = node.metadata.labels.find(key.view());
    if (there != nullptr && *there == value) continue;
    // What it said before the drain's first change counts.
    if (there != nullptr && !mine.set.contains(key.view())) mine.were[key] = *there;
    mine.set[key] = value;
    node.metadata.labels[key] = value;
  }
  if (!mine.set.empty()) api::set_annotation(node.metadata.annotations, mine);
}

void take_labels(api::Node& node, std::string_view drain) {
  const auto said = api::read_annotation<api::DrainCordonLabels>(node.metadata.annotations);
  if (!said || !*said || (*said)->drain_node != drain) return;
  for (const auto& [key, value] : (*said)->set) {
    const Symbol* const there = node.metadata.labels.find(key.view());
    if (there == nullptr || *there != value) continue;  // somebody has changed it since
    if (const Symbol* const before = (*said)->were.find(key.view()))
      node.metadata.labels[key] = *before;
    else
      node.metadata.labels.erase(key.view());
  }
  node.metadata.annotations.erase(api::DrainCordonLabels::kAnnotation);
}

}  // namespace

api::Node cordoned(const api::Node& node, const api::DrainNode& drain) {
  api::Node made = node;
  api::SymbolMap& labels = made.metadata.labels;
  if (!labels.contains(api::kDrainPlanningLabel))
    labels[api::kDrainPlanningLabel] = Symbol(drain.metadata.name);
  if (!drain.spec.cordon_policy) return made;
  const Symbol& mode = drain.spec.cordon_policy->mode;
  if (mode == "Label") add_labels(made, drain);
  // A node has one taint of a key and an effect.
  if (mode == "Taint" && std::ranges::none_of(made.spec.taints, [](const api::Taint& taint) {
        return taint.key == api::kDrainNodeLabel && taint.effect == kNoSchedule;
      })) {
    api::Taint& taint = made.spec.taints.emplace_back();
    taint.key = Symbol(api::kDrainNodeLabel);
    taint.value = Symbol(drain.metadata.name);
    taint.effect = Symbol(kNoSchedule);
  }
  return made;
}

api::Node uncordoned(const api::Node& node, std::string_view drain) {
  api::Node made = node;
  if (api::value_or(made.metadata.labels, api::kDrainPlanningLabel) == drain)
    made.metadata.labels.erase(api::kDrainPlanningLabel);
  std::vector<api::Taint> kept;
  for (const api::Taint& taint : made.spec.taints)
    if (taint.key != api::kDrainNodeLabel || taint.value.view() != drain) kept.push_back(taint);
  if (kept.size() != made.spec.taints.size()) {
    made.spec.taints.clear();
    for (api::Taint& taint : kept) made.spec.taints.push_back(std::move(taint));
  }
  take_labels(made, drain);
  return made;
}

std::string marked_by(const api::Node& node) {
  const std::string_view label = api::value_or(node.metadata.labels, api::kDrainPlanningLabel);
  if (!label.empty()) return std::string(label);
  for (const api::Taint& taint : node.spec.taints)
    if (taint.key == api::kDrainNodeLabel) return std::string(taint.value.view());
  const auto said = api::read_annotation<api::DrainCordonLabels>(node.metadata.annotations);
  return said && *said ? (*said)->drain_node : std::string();
}

}  // namespace koord::descheduler::drain
