// See node_fit.hpp.
#include "framework/node_fit.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "koord/api/rules/node_selector.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/rules/selector.hpp"
#include "koord/api/rules/toleration.hpp"
#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::descheduler {

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// What a resize that is under way may have is the scheduler's to know.
constexpr api::PodRequestsOptions kAsWritten{.use_status = false};

bool holds_nothing(const api::Pod& pod) {
  return pod.status.phase.view() == "Succeeded" || pod.status.phase.view() == "Failed";
}

bool is_same(const api::Pod& a, const api::Pod& b) {
  return &a == &b || (a.metadata.name == b.metadata.name && a.metadata.namespace_ == b.metadata.namespace_);
}

std::int64_t less(std::int64_t from, std::int64_t amount) {
  std::int64_t left = 0;
  return __builtin_sub_overflow(from, amount, &left) ? std::numeric_limits<std::int64_t>::min() : left;
}

/// A required term of anti-affinity.
struct Shunned {
  Symbol topology;
  std::vector<Symbol> namespaces;
  std::optional<api::Selector> namespace_selector;
  api::Selector pods;
};

}  // namespace

struct BasicNodeFit::Asked {
  const api::Pod* pod;
  std::string uid, version;
  std::optional<api::RequiredNodeAffinity> nodes;  // nothing: all
  std::vector<std::pair<Resource, std::int64_t>> amounts;
  std::vector<Shunned> shunned;
};

BasicNodeFit::BasicNodeFit(const Snapshot& snapshot) : snapshot_(snapshot), rooms_(snapshot.nodes().size()) {}
BasicNodeFit::~BasicNodeFit() = default;

BasicNodeFit::Resource BasicNodeFit::resource(const Symbol& name) {
  const auto it = std::ranges::find(resources_, name);  // a cluster has a few dozen names
  if (it != resources_.end()) return static_cast<Resource>(it - resources_.begin());
  resources_.push_back(name);
  return static_cast<Resource>(resources_.size() - 1);
}

const BasicNodeFit::Room& BasicNodeFit::room_of(const NodeView& node) {
  Room& room = rooms_.at(static_cast<std::size_t>(&node - snapshot_.nodes().data()));
  if (room.known) return room;
  room.known = true;
  const auto amount_of = [&](const Symbol& name) -> std::int64_t& {
    const Resource at = resource(name);
    if (at >= room.free.size()) room.free.resize(at + 1);
    return room.free[at];
  };
  const api::ResourceList& has = node.node->status.allocatable;
  for (const auto& [name, amount] : has) amount_of(name) = amount.milli_value();
  const api::Quantity* const places = has.find("pods");
  room.places = places != nullptr ? places->value() : kMost;
  for (const PodPtr& pod : node.pods) {
    if (holds_nothing(*pod)) continue;
    --room.places;
    for (const auto& [name, amount] : api::pod_requests(*pod, kAsWritten)) {
      if (!has.contains(name.view())) continue;  // of what it has none, none is left
      std::int64_t& left = amount_of(name);
      left = less(left, amount.milli_value());
    }
  }
  return room;
}

const BasicNodeFit::Asked& BasicNodeFit::read(const api::Pod& pod) {
  if (asked_ && asked_->pod == &pod && asked_->uid == pod.metadata.uid &&
      asked_->version == pod.metadata.resource_version)
    return *asked_;
  asked_ = std::make_unique<Asked>(
      Asked{.pod = &pod, .uid = pod.metadata.uid, .version = pod.metadata.resource_version});
  const api::Affinity* const affinity = pod.spec.affinity.get();
  if (!pod.spec.node_selector.empty() || (affinity != nullptr && affinity->node_affinity))
    asked_->nodes.emplace(pod.spec);
  for (const auto& [name, amount] : api::pod_requests(pod, kAsWritten))
    asked_->amounts.emplace_back(resource(name), amount.milli_value());
  if (affinity == nullptr || !affinity->pod_anti_affinity) return *asked_;
  for (const api::PodAffinityTerm& term : affinity->pod_anti_affinity->required) {
    // A selector that cannot be read shuns all: it is not known whom it means.
    const auto selector_of = [](const api::LabelSelector* said) {
      auto read = api::Selector::from(said);
      return read ? *std::move(read) : api::Selector();
    };
    Shunned shunned{.topology = term.topology_key, .pods = selector_of(term.label_selector.get())};
    for (const auto& name : term.namespaces) shunned.namespaces.emplace_back(std::string_view(name));
    if (term.namespace_selector) {
      shunned.namespace_selector = selector_of(term.namespace_selector.get());
    } else if (shunned.namespaces.empty()) {
      shunned.namespaces.push_back(pod.metadata.namespace_);
    }
    asked_->shunned.push_back(std::move(shunned));
  }
  return *asked_;
}

bool BasicNodeFit::has_room(const Asked& asked, const NodeView& node) {
  const Room& room = room_of(node);
  if (room.places <= 0) return false;
  return std::ranges::all_of(asked.amounts, [&](const auto& each) {
    const auto [resource, amount] = each;
    return amount <= (resource < room.free.size() ? room.free[resource] : 0) && amount != kMost;
  });
}

bool BasicNodeFit::shuns(const Asked& asked, const NodeView& node) const {
  const auto means = [&](const Shunned& term, const api::Pod& other) {
    const Symbol& ns = other.metadata.namespace_;
    bool there = std::ranges::find(term.namespaces, ns) != term.namespaces.end();
    if (!there && term.namespace_selector) {
      const api::Namespace* const known = snapshot_.find_namespace(ns.view());
      there = known == nullptr || term.namespace_selector->matches(known->metadata.labels);
    }
    return there && term.pods.matches(other.metadata.labels);
  };
  return std::ranges::any_of(asked.shunned, [&](const Shunned& term) {
    return node.node->metadata.labels.contains(term.topology.view()) &&
           std::ranges::any_of(node.pods, [&](const PodPtr& other) {
             return !is_same(*other, *asked.pod) && !holds_nothing(*other) && means(term, *other);
           });
  });
}

bool BasicNodeFit::fits(const api::Pod& pod, const NodeView& node) {
  if (node.node->spec.unschedulable) return false;
  if (api::untolerated(node.node->spec.taints, pod.spec.tolerations) != nullptr) return false;
  const Asked& asked = read(pod);
  if (asked.nodes && !asked.nodes->matches(*node.node)) return false;
  const bool at_home = pod.spec.node_name.view() == node.node->metadata.name;
  return (at_home || has_room(asked, node)) && !shuns(asked, node);
}

}  // namespace koord::descheduler
