// Default selectors: see default_selector.hpp.
#include "scheduling/plugins/pod_topology_spread/default_selector.hpp"

#include <algorithm>

namespace koord::scheduling::pod_topology_spread {

namespace {

bool selects(const api::SymbolMap& selector, const api::SymbolMap& labels) {
  return std::all_of(selector.begin(), selector.end(), [&](const auto& entry) {
    const Symbol* value = labels.find(entry.key);
    return value != nullptr && *value == entry.value;
  });
}

/// Both must hold, also if they ask for two values of one label.
void add(const api::LabelSelector& selector, api::LabelSelector& to) {
  for (const auto& [key, value] : selector.match_labels)
    if (const Symbol* there = to.match_labels.find(key); there == nullptr) {
      to.match_labels[key] = value;
    } else if (*there != value) {
      to.match_expressions.push_back({key, "In", {value}});
    }
  for (const api::LabelSelectorRequirement& r : selector.match_expressions) to.match_expressions.push_back(r);
}

}  // namespace

std::size_t DefaultSelector::PlaceHash::operator()(const Place& place) const {
  return (place.namespace_.hash() * 31 + place.key.hash()) * 31 + place.value.hash();
}

DefaultSelector::DefaultSelector(ObjectStores& objects)
    : services_(objects.watch<api::Service>()),
      controllers_(objects.watch<api::ReplicationController>()),
      replica_sets_(objects.watch<api::ReplicaSet>()),
      stateful_sets_(objects.watch<api::StatefulSet>()) {
  services_.all([&](const api::Service& service) { service_changed(nullptr, &service); });
  services_.on_change(
      [this](const api::Service* before, const api::Service* now) { service_changed(before, now); });
}

void DefaultSelector::service_changed(const api::Service* before, const api::Service* now) {
  const auto place = [](const api::Service& service) {
    const auto& first = *service.spec.selector.begin();
    return Place{service.metadata.namespace_, first.key, first.value};
  };
  if (before != nullptr && !before->spec.selector.empty()) {
    auto& there = selectors_[place(*before)];
    std::erase_if(there, [&](const auto& entry) { return entry.first == before->metadata.name; });
    if (there.empty()) selectors_.erase(place(*before));
  }
  if (now != nullptr && !now->spec.selector.empty())
    selectors_[place(*now)].emplace_back(now->metadata.name, now->spec.selector);
}

std::uint64_t DefaultSelector::generation() const {
  return services_.generation() + controllers_.generation() + replica_sets_.generation() +
         stateful_sets_.generation();
}

std::optional<api::LabelSelector> DefaultSelector::of(const api::Pod& pod) const {
  const api::ObjectMeta& meta = pod.metadata;
  api::LabelSelector all;
  for (const auto& [key, value] : meta.labels) {
    const auto it = selectors_.find(Place{meta.namespace_, key, value});
    if (it == selectors_.end()) continue;
    for (const auto& [name, selector] : it->second)
      if (selects(selector, meta.labels))
        for (const auto& [k, v] : selector) all.match_labels[k] = v;
  }
  if (const api::OwnerReference* owner = api::controller_of(meta)) {
    if (owner->kind == "ReplicationController" && owner->api_version == "v1") {
      if (const auto found = controllers_.find(meta.namespace_, owner->name))
        for (const auto& [key, value] : found->spec.selector) all.match_labels[key] = value;
    } else if (owner->kind == "ReplicaSet" && owner->api_version == "apps/v1") {
      if (const auto found = replica_sets_.find(meta.namespace_, owner->name)) add(found->spec.selector, all);
    } else if (owner->kind == "StatefulSet" && owner->api_version == "apps/v1") {
      if (const auto found = stateful_sets_.find(meta.namespace_, owner->name))
        add(found->spec.selector, all);
    }
  }
  if (all.match_labels.empty() && all.match_expressions.empty()) return std::nullopt;
  return all;
}

}  // namespace koord::scheduling::pod_topology_spread
