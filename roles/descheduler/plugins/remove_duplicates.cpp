// RemoveDuplicates: pods of one owner that gather on a node while others have room for them by their taints
// and labels.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include "framework/plugin_table.hpp"
#include "koord/api/rules/node_selector.hpp"
#include "koord/api/rules/toleration.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "plugins/choice.hpp"

namespace koord::descheduler {

namespace remove_duplicates {

struct RemoveDuplicatesArgs {
  api::Box<NamespaceChoice> namespaces;
  std::vector<std::string> exclude_owner_kinds;

  void validate(const std::string& path, api::FieldErrors& errors) const {
    check_namespaces(namespaces, path, errors);
  }
  KOORD_STRUCT(RemoveDuplicatesArgs);
};
KOORD_OBJECT(RemoveDuplicatesArgs, descheduler_kind("RemoveDuplicatesArgs"),
             ROW(namespaces).doc("Whose pods are looked at; absent or empty: all."),
             ROW(exclude_owner_kinds).doc("Not pods with an owner of one of these kinds."));

namespace {

/// Namespace, the owner's kind and name, the containers' images.
using Owner = std::tuple<std::string_view, std::string_view, std::string_view, std::string>;

struct Owned {
  std::size_t pods = 0;                                   // on all nodes
  std::map<std::string_view, std::vector<PodPtr>> spare;  // by node, without the first of each
};
using Owners = std::map<Owner, Owned>;

std::string images_of(const api::Pod& pod) {
  std::vector<std::string_view> images;
  for (const api::Container& container : pod.spec.containers) images.push_back(container.image.view());
  std::ranges::sort(images);
  std::string all;
  for (const std::string_view image : images) all.append(image).append(1, '#');
  return all;
}

std::vector<Owner> owners_of(const api::Pod& pod) {
  std::vector<Owner> owners;
  const std::string images = images_of(pod);
  for (const api::OwnerReference& owner : pod.metadata.owner_references)
    owners.emplace_back(pod.metadata.namespace_.view(), owner.kind.view(), owner.name.view(), images);
  std::ranges::sort(owners);
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  return owners;
}

const api::NodeSelector* required_of(const api::Pod& pod) {
  const auto& affinity = pod.spec.affinity;
  return affinity && affinity->node_affinity ? affinity->node_affinity->required.get() : nullptr;
}

bool asks_the_same(const api::Pod& a, const api::Pod& b) {
  const api::NodeSelector *one = required_of(a), *other = required_of(b);
  return a.spec.tolerations == b.spec.tolerations && a.spec.node_selector == b.spec.node_selector &&
         (one != nullptr && other != nullptr ? *one == *other : one == other);
}

/// How many nodes some of them may be on by taints and labels. Pods that may be on one only do not count.
std::size_t count_targets(const Owned& owned, std::span<const NodeView* const> nodes) {
  std::vector<const api::Pod*> distinct;
  for (const auto& [node, pods] : owned.spare)
    for (const PodPtr& pod : pods)
      if (std::ranges::none_of(distinct, [&](const api::Pod* other) { return asks_the_same(*pod, *other); }))
        distinct.push_back(pod.get());
  std::unordered_set<const NodeView*> targets;
  for (const api::Pod* pod : distinct) {
    const api::RequiredNodeAffinity affinity(pod->spec);
    std::vector<const NodeView*> of_pod;
    for (const NodeView* node : nodes)
      if (affinity.matches(*node->node) &&
          api::untolerated(node->node->spec.taints, pod->spec.tolerations, /*comparisons=*/true) == nullptr)
        of_pod.push_back(node);
    if (of_pod.size() > 1) targets.insert(of_pod.begin(), of_pod.end());
  }
  return targets.size();
}

class RemoveDuplicates final : public Plugin {
 public:
  RemoveDuplicates(const RemoveDuplicatesArgs& args, const PluginContext&)
      : args_(args), choice_({.namespaces = args.namespaces, .label_selector = {}}) {}

  Task<Result<>> balance(Pass& pass) override {
    const Owners owners = find(pass);
    std::unordered_set<const api::Pod*> gone;
    for (const auto& [owner, owned] : owners) {
      if (owned.spare.empty()) continue;
      const std::size_t targets = count_targets(owned, pass.nodes());
      if (targets < 2) continue;
      const std::size_t share = (owned.pods + targets - 1) / targets;
      for (const auto& [node, spare] : owned.spare)
        for (std::size_t i = share - 1; i < spare.size(); ++i) {
          const PodPtr& pod = spare[i];
          if (gone.contains(pod.get())) continue;
          if (co_await pass.evict(pod, "another pod of its owner is on the node")) gone.insert(pod.get());
        }
    }
    co_return Result<>();
  }

 private:
  Owners find(Pass& pass) const {
    Owners owners;
    for (const NodeView* node : pass.nodes()) {
      std::set<std::vector<Owner>> seen;
      const auto pods = candidates(pass, *node, [this](const api::Pod& pod) {
        return !has_ended(pod) && !pod.metadata.owner_references.empty() && choice_.has(pod) &&
               !has_owner_of(pod, args_.exclude_owner_kinds);
      });
      for (const PodPtr& pod : pods) {
        std::vector<Owner> of_pod = owners_of(*pod);
        for (const Owner& owner : of_pod) ++owners[owner].pods;
        if (seen.contains(of_pod)) {
          for (const Owner& owner : of_pod) owners[owner].spare[node->node->metadata.name].push_back(pod);
        } else {
          seen.insert(std::move(of_pod));
        }
      }
    }
    return owners;
  }

  RemoveDuplicatesArgs args_;
  PodChoice choice_;
};

}  // namespace
}  // namespace remove_duplicates

extern const PluginEntry kRemoveDuplicates{
    .name = "RemoveDuplicates",
    .args = &args_type<remove_duplicates::RemoveDuplicatesArgs>,
    .balances = true,
    .make = &make_with<remove_duplicates::RemoveDuplicates, remove_duplicates::RemoveDuplicatesArgs>};

}  // namespace koord::descheduler
