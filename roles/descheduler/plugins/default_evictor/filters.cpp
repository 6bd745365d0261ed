// See filters.hpp.
#include "plugins/default_evictor/filters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/policy_v1/pod_disruption_budget.hpp"
#include "koord/api/types/scheduling_v1/priority_class.hpp"
#include "plugins/choice.hpp"

namespace koord::descheduler::default_evictor {

namespace {

constexpr std::string_view kNoPass = "nothing is known of the cluster between passes";

}  // namespace

bool Filters::needs_claims(const DefaultEvictorArgs& args) {
  return args.protections().pvc && !args.protected_storage_classes().empty();
}

Filters::Filters(const DefaultEvictorArgs& args, Sources sources)
    : args_(args),
      sources_(std::move(sources)),
      kept_(args.protections()),
      rules_(args.rules()),
      priority_class_(args.priority_class()),
      storage_classes_(args.protected_storage_classes()) {
  // What cannot be read is refused before; should it get here, nothing may go.
  auto nodes = api::Selector::parse(args.node_selector);
  nodes_ = nodes ? *std::move(nodes) : api::Selector::nothing();
  if (args.namespace_label_selector) {
    auto selector = api::Selector::from(args.namespace_label_selector.get());
    namespaces_ = selector ? *std::move(selector) : api::Selector::nothing();
  }
}

const Filters::Known& Filters::known(const Snapshot& snapshot) {
  if (known_.snapshot == snapshot.id()) return known_;
  known_ = Known();
  known_.snapshot = snapshot.id();
  if (args_.min_replicas > 1)
    for (const PodPtr& pod : snapshot.pods())
      for (const api::OwnerReference& owner : pod->metadata.owner_references)
        ++known_.replicas[owner.uid.view()];
  if (kept_.without_budget)
    for (const auto& budget : snapshot.budgets())
      if (auto selector = api::Selector::from(budget->spec.selector.get()))
        known_.budgets[budget->metadata.namespace_.view()].push_back(*std::move(selector));
  if (!priority_class_.empty())
    if (const api::PriorityClass* const found = snapshot.priority_class(priority_class_))
      known_.threshold = found->value;
  if (args_.node_fit)
    for (const NodeView& node : snapshot.nodes())
      if (node.ready && nodes_.matches(node.node->metadata.labels)) known_.nodes.push_back(&node);
  return known_;
}

/// A claim, or the class of one, that is not known speaks against it.
std::string Filters::why_not_by_claims(const api::Pod& pod) const {
  if (!kept_.pvc || storage_classes_.empty()) return {};
  for (const api::Volume& volume : pod.spec.volumes) {
    if (!volume.persistent_volume_claim) continue;
    const std::string_view name = volume.persistent_volume_claim->claim_name;
    const auto claim = sources_.claim ? sources_.claim(pod.metadata.namespace_.view(), name) : nullptr;
    if (!claim) return fmt::format("its claim {} is not known", name);
    const auto& storage = claim->spec.storage_class_name;
    if (!storage || storage->empty())
      return fmt::format("the storage class of its claim {} is not known", name);
    if (std::ranges::find(storage_classes_, storage->view()) != storage_classes_.end())
      return fmt::format("pod using protected storage class \"{}\"", storage->view());
  }
  return {};
}

bool Filters::is_covered(const api::Pod& pod, const Known& known) {
  const auto budgets = known.budgets.find(pod.metadata.namespace_.view());
  return budgets != known.budgets.end() &&
         std::ranges::any_of(budgets->second, [&](const api::Selector& selector) {
           return selector.matches(pod.metadata.labels);
         });
}

/// What the other objects of a pass have to say.
std::string Filters::why_not_by_pass(const api::Pod& pod, const Snapshot& snapshot) {
  const Known& all = known(snapshot);
  if (!priority_class_.empty()) {
    if (!all.threshold) return fmt::format("there is no PriorityClass {}", priority_class_);
    if (pod.spec.priority && *pod.spec.priority >= *all.threshold)
      return "pod has higher priority than specified priority class threshold";
  }
  const auto& owners = pod.metadata.owner_references;
  // Of several owners nobody knows which one counts.
  if (args_.min_replicas > 1 && owners.size() == 1) {
    const auto found = all.replicas.find(owners.front().uid.view());
    const std::size_t replicas = found != all.replicas.end() ? found->second : 0;
    if (static_cast<std::int64_t>(replicas) < args_.min_replicas)
      return fmt::format("owner has {} replicas which is less than minReplicas of {}", replicas,
                         args_.min_replicas);
  }
  if (args_.min_pod_age &&
      (!pod.status.start_time || snapshot.now() - pod.status.start_time->wall() < args_.min_pod_age->value))
    return fmt::format("pod age is not older than MinPodAge: {}", args_.min_pod_age->to_string());
  if (kept_.without_budget && !is_covered(pod, all))
    return "pod does not have a PodDisruptionBudget and is protected against eviction";
  return {};
}

std::string Filters::why_not(const api::Pod& pod) {
  if (has_evict_annotation(pod)) return {};
  if (args_.heeds_no_eviction() && would_rather_stay(pod)) return "pod asks not to be evicted";
  if (const auto why = why_not_evictable(pod, rules_); !why.empty()) return std::string(why.front());
  if (kept_.resource_claims && !pod.spec.resource_claims.empty())
    return "pod has ResourceClaims and descheduler is configured to protect ResourceClaims pods";
  const Snapshot* const snapshot = sources_.snapshot();
  if (snapshot == nullptr) return std::string(kNoPass);
  if (std::string why = why_not_by_pass(pod, *snapshot); !why.empty()) return why;
  return why_not_by_claims(pod);
}

std::string Filters::why_not_now(const api::Pod& pod) {
  if (!args_.node_fit && !namespaces_) return {};
  Pass* const pass = sources_.pass();
  if (pass == nullptr) return std::string(kNoPass);
  if (args_.node_fit && !pass->node_fit().fits_elsewhere(pod, known(pass->snapshot()).nodes))
    return "pod does not fit on any other node";
  if (!namespaces_) return {};
  const api::Namespace* const its = pass->snapshot().find_namespace(pod.metadata.namespace_.view());
  if (its == nullptr || !namespaces_->matches(its->metadata.labels))
    return "pod namespace do not match the namespaceLabelSelector filter in the policy parameter";
  return {};
}

}  // namespace koord::descheduler::default_evictor
