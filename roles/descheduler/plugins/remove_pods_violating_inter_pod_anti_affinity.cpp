// RemovePodsViolatingInterPodAntiAffinity: pods that are where their required anti-affinity does not want
// them beside others, the least important first.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "framework/plugin_table.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "plugins/choice.hpp"

namespace koord::descheduler {

namespace remove_pods_violating_inter_pod_anti_affinity {

struct RemovePodsViolatingInterPodAntiAffinityArgs {
  PodChoiceArgs pods;

  void validate(const std::string& path, api::FieldErrors& errors) const { pods.validate(path, errors); }
  KOORD_STRUCT(RemovePodsViolatingInterPodAntiAffinityArgs);
};
KOORD_OBJECT(RemovePodsViolatingInterPodAntiAffinityArgs,
             descheduler_kind("RemovePodsViolatingInterPodAntiAffinityArgs"), ROW(pods).inlined());

namespace {

using PodsByNamespace = std::unordered_map<std::string_view, std::vector<const api::Pod*>>;

/// How many pods a term means, by topology value. Terms that say the same share one.
class Group {
 public:
  Group(const api::PodAffinityTerm& term, std::string_view own, api::Selector selector)
      : selector_(std::move(selector)), key_(term.topology_key.view()) {
    for (const Symbol& name : term.namespaces) namespaces_.emplace_back(name.view());
    if (term.namespace_selector) {
      auto read = api::Selector::from(term.namespace_selector.get());
      namespace_selector_ = read ? std::move(*read) : api::Selector::nothing();
    } else if (namespaces_.empty()) {
      namespaces_.emplace_back(own);
    }
    std::ranges::sort(namespaces_);
    name_ = key_;
    for (const std::string& name : namespaces_) name_.append(1, '\0').append(name);
    append(namespace_selector_);
    append(selector_);
  }

  const std::string& name() const { return name_; }
  bool means(const api::Pod& pod, const Snapshot& snapshot) const {
    return has_namespace(pod.metadata.namespace_.view(), snapshot) && selector_.matches(pod.metadata.labels);
  }
  void count(const PodsByNamespace& pods, const Snapshot& snapshot) {
    for (const auto& [ns, of] : pods) {
      if (!has_namespace(ns, snapshot)) continue;
      for (const api::Pod* pod : of)
        if (selector_.matches(pod->metadata.labels)) ++counts_[place_of(*pod, snapshot)];
    }
  }
  std::size_t beside(const api::Pod& pod, const Snapshot& snapshot) const {
    const auto it = counts_.find(place_of(pod, snapshot));
    return it == counts_.end() ? 0 : it->second - (means(pod, snapshot) ? 1 : 0);
  }
  void forget(const api::Pod& pod, const Snapshot& snapshot) {
    if (means(pod, snapshot)) --counts_[place_of(pod, snapshot)];
  }

 private:
  void append(const api::Selector& selector) {
    name_.append(1, '\0').append(selector.is_nothing() ? "-" : selector.to_string());
  }
  bool has_namespace(std::string_view ns, const Snapshot& snapshot) const {
    if (std::ranges::binary_search(namespaces_, ns)) return true;
    if (namespace_selector_.is_nothing()) return false;
    const api::Namespace* const found = snapshot.find_namespace(ns);
    return found != nullptr && namespace_selector_.matches(found->metadata.labels);
  }
  /// The topology's value; of a node without the label the node itself.
  std::string place_of(const api::Pod& pod, const Snapshot& snapshot) const {
    const NodeView* const node = snapshot.node(pod.spec.node_name.view());
    const Symbol* const value = node != nullptr ? node->node->metadata.labels.find(key_) : nullptr;
    return value != nullptr ? fmt::format("={}", value->view())
                            : fmt::format("/{}", pod.spec.node_name.view());
  }

  api::Selector selector_;
  api::Selector namespace_selector_ = api::Selector::nothing();
  std::vector<std::string> namespaces_;
  std::string key_, name_;
  std::unordered_map<std::string, std::size_t> counts_;
};

/// Which pods of a pass are beside others that they do not want there.
class Conflicts {
 public:
  explicit Conflicts(const Snapshot& snapshot) : snapshot_(snapshot) {}

  void add(const api::Pod& pod) { pods_[pod.metadata.namespace_.view()].push_back(&pod); }
  /// False for pods with a term that cannot be read.
  bool has(const api::Pod& pod) {
    if (!pod.spec.affinity || !pod.spec.affinity->pod_anti_affinity) return false;
    for (const api::PodAffinityTerm& term : pod.spec.affinity->pod_anti_affinity->required) {
      const Group* const group = group_of(term, pod.metadata.namespace_.view());
      if (group == nullptr) return false;
      if (group->beside(pod, snapshot_) > 0) return true;
    }
    return false;
  }
  void forget(const api::Pod& pod) {
    std::erase(pods_[pod.metadata.namespace_.view()], &pod);
    for (auto& [name, group] : groups_) group.forget(pod, snapshot_);
  }

 private:
  const Group* group_of(const api::PodAffinityTerm& term, std::string_view own) {
    auto selector = api::Selector::from(term.label_selector.get());
    if (!selector) return nullptr;
    Group group(term, own, std::move(*selector));
    const auto it = groups_.find(group.name());
    if (it != groups_.end()) return &it->second;
    group.count(pods_, snapshot_);
    std::string name = group.name();
    return &groups_.emplace(std::move(name), std::move(group)).first->second;
  }

  const Snapshot& snapshot_;
  PodsByNamespace pods_;
  std::unordered_map<std::string, Group> groups_;
};

class RemovePodsViolatingInterPodAntiAffinity final : public Plugin {
 public:
  RemovePodsViolatingInterPodAntiAffinity(const RemovePodsViolatingInterPodAntiAffinityArgs& args,
                                          const PluginContext&)
      : choice_(args.pods) {}

  Task<Result<>> deschedule(Pass& pass) override {
    Conflicts conflicts(pass.snapshot());
    for (const NodeView* node : pass.nodes())
      for (const PodPtr& pod : node->pods)
        if (counts(*pod)) conflicts.add(*pod);
    for (const NodeView* node : pass.nodes()) {
      std::vector<PodPtr> pods;
      for (const PodPtr& pod : node->pods)
        if (counts(*pod)) pods.push_back(pod);
      sort_least_first(pods);
      for (const PodPtr& pod : pods) {
        if (!conflicts.has(*pod) || !pass.may_go(*pod) || !pass.may_go_now(*pod)) continue;
        if (co_await pass.evict(pod, "the pod's anti-affinity does not want it beside another pod"))
          conflicts.forget(*pod);
      }
    }
    co_return Result<>();
  }

 private:
  bool counts(const api::Pod& pod) const { return !has_ended(pod) && choice_.has(pod); }

  PodChoice choice_;
};

}  // namespace
}  // namespace remove_pods_violating_inter_pod_anti_affinity

extern const PluginEntry kRemovePodsViolatingInterPodAntiAffinity{
    .name = "RemovePodsViolatingInterPodAntiAffinity",
    .args = &args_type<
        remove_pods_violating_inter_pod_anti_affinity::RemovePodsViolatingInterPodAntiAffinityArgs>,
    .deschedules = true,
    .make = &make_with<
        remove_pods_violating_inter_pod_anti_affinity::RemovePodsViolatingInterPodAntiAffinity,
        remove_pods_violating_inter_pod_anti_affinity::RemovePodsViolatingInterPodAntiAffinityArgs>};

}  // namespace koord::descheduler
