// One pod's way through the filters: see cycle.hpp.
#include "support/reference/cycle.hpp"

#include <algorithm>

#include "support/reference/claims/claims.hpp"
#include "support/reference/devices/devices.hpp"
#include "support/reference/load_aware.hpp"
#include "support/reference/numa.hpp"
#include "support/reference/reservations.hpp"

namespace koord::reference {

Cycle::Cycle(const Cluster& cluster, const Config& config, const api::Pod& pod, const State& state,
             const Says& says)
    : cluster_(cluster),
      config_(config),
      pod_(pod),
      spread_(cluster, config, pod, state),
      affinity_(cluster, pod, state),
      volumes_(cluster, pod, state),
      reservations_(config.filters.end() !=
                            std::find(config.filters.begin(), config.filters.end(), "Reservation")
                        ? says.reservations
                        : nullptr),
      numa_(says.numa),
      devices_(says.devices),
      claims_(says.claims),
      binding_(std::make_shared<const VolumeBinding>(cluster, pod)) {
  if (reservations_ != nullptr && !reservations_->error().empty()) {
    error_ = reservations_->error();
    return;
  }
  for (const std::string& plugin : config.filters) {
    if (plugin == "VolumeBinding") {
      rejected_ = binding_->rejected();
      error_ = binding_->error();
      if (!error_.empty()) break;
    }
    if (plugin == "NodeAffinity") name_nodes();
    if (plugin == "NodeNUMAResource" && numa_ != nullptr) {
      rejected_ = numa_->rejected();
      error_ = numa_->error();
      if (!error_.empty()) break;
    }
    if (plugin == "DeviceShare" && devices_ != nullptr) rejected_ = devices_->rejected();
    if (plugin == "DynamicResources" && claims_ != nullptr) {
      rejected_ = claims_->rejected();
      error_ = claims_->error();
      if (!error_.empty()) break;
    }
    if (VolumeFilters::knows(plugin)) rejected_ = volumes_.rejected(plugin);
    if (rejected_.empty()) continue;
    rejected_by_ = plugin;
    return;
  }
  // It is asked when PreFilter has passed.
  if (reservations_ == nullptr) return;
  rejected_ = reservations_->rejected();
  if (!rejected_.empty()) rejected_by_ = "Reservation";
}

/// NodeAffinity's PreFilter.
void Cycle::name_nodes() {
  const auto& spec = pod_.pod->spec;
  if (!spec.affinity || !spec.affinity->node_affinity || !spec.affinity->node_affinity->required) return;
  const auto& terms = spec.affinity->node_affinity->required->node_selector_terms;
  std::set<Symbol> all;
  for (const auto& term : terms) {
    std::optional<std::set<Symbol>> of_term;
    for (const auto& r : term.match_fields) {
      if (r.key != "metadata.name" || r.operator_ != "In") continue;
      std::set<Symbol> names(r.values.begin(), r.values.end());
      if (of_term) std::erase_if(names, [&](const Symbol& n) { return !of_term->contains(n); });
      of_term = std::move(names);
    }
    if (!of_term) return;
    all.merge(*of_term);
  }
  if (terms.empty()) return;
  if (all.empty()) rejected_ = "pod affinity terms conflict";
  named_ = std::move(all);
}

bool Cycle::leaves_out(const api::Node& node) const {
  return (named_ && !named_->contains(node.metadata.name)) ||
         (reservations_ != nullptr && reservations_->leaves_out(node));
}

std::string Cycle::left_out() const {
  return named_ ? "node(s) didn't satisfy plugin(s) [NodeAffinity]"
                : "node(s) didn't satisfy plugin(s) [Reservation]";
}

void Cycle::count(const api::Pod& other, const api::Node& node, int change) {
  if (!spread_.has_no_say()) spread_.count(other, node, change);
  if (!affinity_.has_no_say()) affinity_.count(other, node, change);
  volumes_.count(other, change);
}

void Cycle::add(const api::Pod& other, NodeState& node) {
  count(other, *node.node, 1);
  node.pods.emplace_back(other);
}

void Cycle::remove(const api::Pod& other, NodeState& node) {
  count(other, *node.node, -1);
  std::erase_if(node.pods, [&](const Counted& p) { return p.pod == &other; });
}

Filtered Cycle::filter(const NodeState& node) const {
  Cycle with = *this;
  NodeState fuller = node;
  for (const auto& [key, other] : cluster_.nominated)
    if (other->status.nominated_node_name == node.node->metadata.name &&
        priority(*other) >= priority(*pod_.pod) && other->metadata.uid != pod_.pod->metadata.uid)
      with.add(*other, fuller);
  Filtered rejected = with.filter_as_it_is(fuller);
  if (rejected || fuller.pods.size() == node.pods.size()) return rejected;
  return filter_as_it_is(node);
}

Filtered Cycle::filter_as_it_is(const NodeState& node) const {
  for (const std::string& plugin : config_.filters) {
    Filtered rejected;
    if (plugin == "PodTopologySpread") {
      if (!spread_.has_no_say()) rejected = spread_.filter(*node.node);
    } else if (plugin == "InterPodAffinity") {
      if (!affinity_.has_no_say()) rejected = affinity_.filter(*node.node);
    } else if (VolumeFilters::knows(plugin)) {
      rejected = volumes_.filter(plugin, node);
    } else if (plugin == "VolumeBinding") {
      rejected = binding_->filter(*node.node);
    } else if (plugin == "Reservation") {
      if (reservations_ != nullptr) rejected = reservations_->filter(node);
    } else if (plugin == "NodeNUMAResource") {
      if (numa_ != nullptr) rejected = numa_->filter(node);
    } else if (plugin == "DeviceShare") {
      if (devices_ != nullptr) rejected = devices_->filter(*node.node);
    } else if (plugin == "DynamicResources") {
      if (claims_ != nullptr) rejected = claims_->filter(*node.node);
    } else if (plugin == "LoadAwareScheduling") {
      rejected = load_filter(cluster_, config_.load, *pod_.pod, *node.node);
    } else {
      rejected = filter_node(plugin, config_, pod_, node);
    }
    if (rejected) return rejected;
  }
  return std::nullopt;
}

}  // namespace koord::reference
