// See constraint.hpp.
#include "plugins/remove_pods_violating_topology_spread_constraint/constraint.hpp"

#include <fmt/format.h>

#include "koord/api/rules/toleration.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"

namespace koord::descheduler::topology_spread {

namespace {

constexpr std::string_view kHonor = "Honor", kIgnore = "Ignore";

/// The selector, and the pod's own values of matchLabelKeys.
Result<api::Selector> selector_of(const api::TopologySpreadConstraint& asked, const api::Pod& pod) {
  KOORD_TRY(selector, api::Selector::from(asked.label_selector.get()));
  std::vector<api::SelectorRequirement> all(selector.requirements().begin(), selector.requirements().end());
  for (const Symbol& key : asked.match_label_keys)
    if (const Symbol* const value = pod.metadata.labels.find(key.view()))
      all.push_back({.key = key, .op = api::SelectorOp::in, .values = {*value}});
  if (selector.is_nothing() || all.size() == selector.requirements().size()) return selector;
  return api::Selector::from_requirements(std::move(all));
}

}  // namespace

Result<Constraint> Constraint::make(const api::TopologySpreadConstraint& asked, const api::Pod& pod) {
  Constraint made;
  KOORD_TRY(selector, selector_of(asked, pod));
  made.selector_ = std::move(selector);
  made.topology_key_ = asked.topology_key.view();
  made.max_skew_ = asked.max_skew;
  made.name_ = fmt::format("{}|{}|{}", asked.max_skew, made.topology_key_,
                           made.selector_.is_nothing() ? "-" : made.selector_.to_string());
  if (asked.node_affinity_policy.view() != kIgnore) {
    made.affinity_.emplace(pod.spec);
    api::PodSpec part;
    part.node_selector = pod.spec.node_selector;
    if (pod.spec.affinity && pod.spec.affinity->node_affinity)
      part.affinity.ensure().node_affinity.ensure().required = pod.spec.affinity->node_affinity->required;
    made.name_ += fmt::format("|{}", api::encode(part));
  }
  if (asked.node_taints_policy.view() == kHonor) {
    made.tolerations_ = pod.spec.tolerations;
    api::PodSpec part;
    part.tolerations = pod.spec.tolerations;
    made.name_ += fmt::format("|{}", api::encode(part));
  }
  return made;
}

std::optional<std::string_view> Constraint::domain_of(const api::Node& node) const {
  const Symbol* const value = node.metadata.labels.find(topology_key_);
  if (value == nullptr) return {};
  return value->view();
}

bool Constraint::includes(const api::Node& node) const {
  if (affinity_ && !affinity_->matches(node)) return false;
  return !tolerations_ || api::untolerated(node.spec.taints, *tolerations_, /*comparisons=*/true) == nullptr;
}

}  // namespace koord::descheduler::topology_spread
