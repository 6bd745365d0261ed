// The rules of ElasticQuotas: see quota_rules.hpp.
#include "admission/quota/quota_rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "admission/quota/amounts.hpp"
#include "koord/api/koordinator/annotation.hpp"

namespace koord::manager {
namespace {

using Version = QuotaCatalog::Version;

bool is_root(std::string_view name) { return name == api::kRootQuota; }

bool same_quota(const QuotaVersion& a, const QuotaVersion& b) {
  return a.name() == b.name() && a.object->metadata.namespace_ == b.object->metadata.namespace_;
}

/// What the rules look at: an update of anything else passes.
bool same_terms(const QuotaVersion& a, const QuotaVersion& b) {
  const auto labels = [](const QuotaVersion& version, std::string_view key) {
    return api::value_or(version.object->metadata.labels, key);
  };
  for (const std::string_view key :
       {api::kQuotaParentLabel, api::kQuotaIsParentLabel, api::kQuotaTreeIdLabel})
    if (labels(a, key) != labels(b, key)) return false;
  return api::value_or(a.object->metadata.annotations, api::kQuotaNamespaces) ==
             api::value_or(b.object->metadata.annotations, api::kQuotaNamespaces) &&
         a.min() == b.min() && a.max() == b.max();
}

/// What a quota is sure of keeping beyond its min; an annotation that cannot be read says nothing.
api::ResourceList guaranteed(const QuotaVersion& quota) {
  auto said = api::read_annotation<api::AnnotatedResources>(quota.object->metadata.annotations,
                                                            api::kQuotaGuaranteed);
  return said && *said ? std::move((*said)->resources) : api::ResourceList();
}

bool names_the_same(const api::ResourceList& a, const api::ResourceList& b) {
  return a.size() == b.size() && names_all(a, b);
}

QuotaRuling ruling(std::string wrong) { return {std::move(wrong)}; }

}  // namespace

std::vector<Version> QuotaRules::versions(std::string_view name) const {
  std::vector<Version> all = catalog_.recent(name);
  if (Version known = catalog_.find(name)) all.insert(all.begin(), std::move(known));
  return all;
}

std::vector<Version> QuotaRules::versions_of_children(std::string_view parent) const {
  std::vector<Version> all = catalog_.children(parent);
  for (Version& recent : catalog_.recent_children(parent)) all.push_back(std::move(recent));
  return all;
}

bool QuotaRules::has_children(std::string_view name) const { return !versions_of_children(name).empty(); }

QuotaRuling QuotaRules::fill(api::ElasticQuota& quota, bool& weight_set) const {
  weight_set = false;
  if (is_root(quota.metadata.name)) return {};
  api::SymbolMap& labels = quota.metadata.labels;
  if (api::value_or(labels, api::kQuotaParentLabel).empty()) labels[api::kQuotaParentLabel] = api::kRootQuota;
  const std::string_view parent = api::value_or(labels, api::kQuotaParentLabel);
  if (api::value_or(labels, api::kQuotaTreeIdLabel).empty() && !is_root(parent)) {
    const Version known = catalog_.find(parent);
    if (!known) return {fmt::format("fill quota {} failed, parent not exist", quota.metadata.name), true};
    if (!known->terms.tree_id.empty()) labels[api::kQuotaTreeIdLabel] = Symbol(known->terms.tree_id);
  }
  api::SymbolMap& annotations = quota.metadata.annotations;
  const std::string_view text = api::value_or(annotations, api::kQuotaSharedWeight);
  if (text.empty()) {
    api::set_annotation(annotations, api::AnnotatedResources{quota.spec.max}, api::kQuotaSharedWeight);
    weight_set = true;
    return {};
  }
  auto said = api::read_annotation<api::AnnotatedResources>(annotations, api::kQuotaSharedWeight);
  if (!said)
    return ruling(
        fmt::format("fillDefaultQuotaInfo unmarshal sharedWeight failed:{}", said.error().message()));
  api::ResourceList weight, &before = (*said)->resources;
  for (const auto& [name, most] : quota.spec.max) {
    const api::Quantity* const own = before.find(name);
    weight[name] = own != nullptr ? *own : most;
  }
  if (!names_the_same(weight, before))
    api::set_annotation(annotations, api::AnnotatedResources{weight}, api::kQuotaSharedWeight);
  return {};
}

QuotaRuling QuotaRules::check_create(const QuotaVersion& quota) const {
  const std::string& name = quota.name();
  if (catalog_.find(name)) return ruling(fmt::format("AddQuota quota already exist:{}", name));
  for (const Version& recent : catalog_.recent(name))
    if (!same_quota(*recent, quota)) return {fmt::format("AddQuota quota already exist:{}", name), true};
  for (const std::string& ns : quota.terms.namespaces) {
    const Version bound = catalog_.of_namespace(ns), soon = catalog_.recent_of_namespace(ns, name);
    if (bound || soon)
      return {fmt::format("AddQuota quota {}'s annotation namespace {} is already bound to quota {}", name,
                          ns, (bound ? bound : soon)->name()),
              !bound};
  }
  if (std::string wrong = check_itself(quota); !wrong.empty()) return ruling(std::move(wrong));
  return check_place(nullptr, quota);
}

QuotaRuling QuotaRules::check_update(const QuotaVersion& before, const QuotaVersion& after) const {
  if (same_terms(before, after)) return {};
  const std::string& name = after.name();
  if (name == api::kSystemQuota || is_root(name)) return ruling(fmt::format("invalid quota {}", name));
  for (const std::string& ns : after.terms.namespaces) {
    Version bound = catalog_.of_namespace(ns);
    if (bound && bound->name() == name) bound = nullptr;
    const Version soon = catalog_.recent_of_namespace(ns, name);
    if (bound || soon)
      return {fmt::format(
                  "UpdadteQuota, quota {} update namespaces, but namespace {} is already bound to quota {}",
                  name, ns, (bound ? bound : soon)->name()),
              !bound};
  }
  if (!catalog_.find(name))
    return {fmt::format("UpdateQuota quota not exist in quotaInfoMap:{}", name), true};
  if (std::string wrong = check_itself(after); !wrong.empty()) return ruling(std::move(wrong));
  return check_place(&before, after);
}

QuotaRuling QuotaRules::check_delete(const QuotaVersion& quota) const {
  const std::string& name = quota.name();
  if (name == api::kSystemQuota || name == api::kDefaultQuota || is_root(name))
    return ruling(fmt::format("can not delete quotaGroup :{}", name));
  if (!catalog_.find(name)) return {fmt::format("not found quota:{}", name), true};
  std::set<std::string_view> children;
  const std::vector<Version> versions = versions_of_children(name);
  for (const Version& child : versions) children.insert(child->name());
  if (!children.empty())
    return {fmt::format("delete quota failed, quota {} has {} child quotas", name, children.size()),
            catalog_.has_recent()};
  std::vector<std::string> pods = pods_.of_quota(name);
  if (pods.empty()) return {};
  const std::size_t count = pods.size();
  std::ranges::sort(pods);
  if (count > 2) {
    pods.resize(2);
    pods.emplace_back("...");
  }
  return ruling(
      fmt::format("delete quota failed, quota {} has {} child pods: {}", name, count, fmt::join(pods, ", ")));
}

std::string QuotaRules::check_itself(const QuotaVersion& quota) const {
  const std::string& name = quota.name();
  const api::SymbolMap& annotations = quota.object->metadata.annotations;
  if (const std::string below = negative_names(quota.max()); !below.empty())
    return fmt::format("{} quota.Spec.Max's value < 0, in dimensions :{}", name, below);
  if (const std::string below = negative_names(quota.min()); !below.empty())
    return fmt::format("{} quota.Spec.Min's value < 0, in dimensions :{}", name, below);
  const auto weight = api::read_annotation<api::AnnotatedResources>(annotations, api::kQuotaSharedWeight);
  if (!weight) return weight.error().message();
  if (*weight)
    if (const std::string below = negative_names((*weight)->resources); !below.empty())
      return fmt::format("{} quota.Annotation[{}]'s value < 0, in dimension :{}", name,
                         api::kQuotaSharedWeight, below);
  for (const auto& [key, least] : quota.min()) {
    const api::Quantity* const most = quota.max().find(key);
    if (most == nullptr)
      return fmt::format("resourceKey {} of quota {} is included in min, which is not included in max",
                         key.view(), name);
    if (*most < least)
      return fmt::format("resourceKey {} of quota {} min {} > max {}", key.view(), name, least.to_string(),
                         most->to_string());
  }
  const auto strict = api::read_annotation<api::AnnotatedNames>(annotations, api::kQuotaStrictKeys);
  if (!strict)
    return fmt::format("{} quota.Annotation[{}]'s value is invalid: {}", name, api::kQuotaStrictKeys,
                       strict.error().message());
  if (!*strict) return {};
  for (const std::string& key : (*strict)->names) {
    const api::Quantity* const used = quota.object->status.used.find(key);
    if (used == nullptr) continue;
    const api::Quantity* const most = quota.max().find(key);
    if (most == nullptr)
      return fmt::format(
          "resourceKey {} of quota {} is included in used, which is not included in max but should check max "
          ">= used",
          key, name);
    if (*most < *used)
      return fmt::format("resourceKey {} of quota {} max {} < used {}", key, name, most->to_string(),
                         used->to_string());
  }
  return {};
}

QuotaRuling QuotaRules::check_place(const QuotaVersion* before, const QuotaVersion& quota) const {
  if (is_root(quota.name())) return {};
  const auto held = [&](std::string wrong) { return QuotaRuling{std::move(wrong), catalog_.has_recent()}; };
  if (before != nullptr)
    if (std::string wrong = check_becomes_parent(*before, quota); !wrong.empty())
      return held(std::move(wrong));
  if (std::string wrong = check_tree(before, quota); !wrong.empty()) return held(std::move(wrong));
  if (is_root(quota.terms.parent) && !quota.terms.is_parent) return {};
  if (QuotaRuling parent = check_parent(quota); !parent.wrong.empty()) return parent;
  if (std::string wrong = check_keys(quota); !wrong.empty())
    return held(fmt::format("failed to check sub and parent group quotaKey, err: {}", wrong));
  if (std::string wrong = check_min(quota); !wrong.empty()) return held(std::move(wrong));
  if (options_.guarantees_usage)
    if (std::string wrong = check_guaranteed(quota); !wrong.empty())
      return held(fmt::format("{} {}", wrong, quota.name()));
  return {};
}

std::string QuotaRules::check_becomes_parent(const QuotaVersion& before, const QuotaVersion& quota) const {
  if (before.terms.is_parent == quota.terms.is_parent) return {};
  if (!quota.terms.is_parent)
    return has_children(quota.name())
               ? fmt::format("quota has children, isParent is forbidden to modify as false, quotaName:{}",
                             quota.name())
               : std::string();
  const bool owns = !pods_.of_quota(quota.name()).empty() || pods_.in_namespace(quota.name()) ||
                    std::ranges::any_of(before.terms.namespaces, pods_.in_namespace);
  return owns ? fmt::format("quota has bound pods, isParent is forbidden to modify as true, quotaName: {}",
                            quota.name())
              : std::string();
}

std::string QuotaRules::check_tree(const QuotaVersion* before, const QuotaVersion& quota) const {
  const std::string &name = quota.name(), &id = quota.terms.tree_id;
  if (before != nullptr && before->terms.tree_id != id)
    return fmt::format("{} tree id changed [{}] vs [{}]", name, before->terms.tree_id, id);
  if (!is_root(quota.terms.parent))
    for (const Version& parent : versions(quota.terms.parent))
      if (parent->terms.tree_id != id)
        return fmt::format("{} tree id is different from parent {}, [{}] vs [{}]", name, parent->name(), id,
                           parent->terms.tree_id);
  for (const Version& child : versions_of_children(name))
    if (child->terms.tree_id != id)
      return fmt::format("{} tree id is different from child {}, [{}] vs [{}]", name, child->name(), id,
                         child->terms.tree_id);
  return {};
}

QuotaRuling QuotaRules::check_parent(const QuotaVersion& quota) const {
  const std::string &name = quota.name(), &parent = quota.terms.parent;
  if (is_root(parent)) return {};
  if (!catalog_.find(parent) || catalog_.recently_removed(parent))
    return {fmt::format("{} has parentName {} but not find parentInfo in quotaInfoMap", name, parent), true};
  for (const Version& version : versions(parent))
    if (!version->terms.is_parent)
      return {fmt::format("{} has parentName {} but the parentQuotaInfo's IsParent is false", name, parent),
              catalog_.has_recent()};
  // Upward by every version there is: nobody is his own ancestor, whichever of them is written.
  std::set<std::string> seen;
  std::vector<std::string> next = {parent};
  while (!next.empty()) {
    const std::string at = std::move(next.back());
    next.pop_back();
    if (at == name)
      return {fmt::format("{} has parentName {}, which is {}: the quotas' tree must not have a cycle", name,
                          parent, parent == name ? "itself" : "below it"),
              catalog_.has_recent()};
    if (is_root(at) || !seen.insert(at).second) continue;
    for (const Version& version : versions(at)) next.push_back(version->terms.parent);
  }
  return {};
}

std::string QuotaRules::check_keys(const QuotaVersion& quota) const {
  const auto fits = [&](const api::ResourceList& parent, const api::ResourceList& child) {
    return options_.keys_may_differ ? names_all(parent, child) : names_the_same(parent, child);
  };
  const auto wrong = [](std::string_view list, std::string_view name, std::string_view parent,
                        bool included) {
    return included
               ? fmt::format(
                     "checkSubAndParentGroupQuotaKey failed: {}'s {} keys are not all included in {}'s", name,
                     list, parent)
               : fmt::format("checkSubAndParentGroupQuotaKey failed: {}'s {} keys are not the same with {}'s",
                             name, list, parent);
  };
  const std::string &name = quota.name(), &above = quota.terms.parent;
  if (!is_root(above))
    for (const Version& parent : versions(above)) {
      if (!fits(parent->max(), quota.max()))
        return options_.keys_may_differ ? wrong("max", name, above, true) : wrong("max", above, name, false);
      if (!names_all(parent->min(), quota.min())) return wrong("min", name, above, true);
    }
  for (const Version& child : versions_of_children(name)) {
    if (!fits(quota.max(), child->max())) return wrong("max", child->name(), name, options_.keys_may_differ);
    if (!names_all(quota.min(), child->min())) return wrong("min", child->name(), name, true);
  }
  return {};
}

api::ResourceList QuotaRules::min_beside(std::string_view parent, const QuotaVersion* except) const {
  api::ResourceList sum = catalog_.min_of_children(parent);
  const auto known = [&](const QuotaVersion& version) {
    Version there = catalog_.find(version.object->metadata.namespace_.view(), version.name());
    return there && there->terms.parent == parent ? there : nullptr;
  };
  if (except != nullptr)
    if (const Version self = known(*except)) take(sum, self->min());
  for (const Version& recent : catalog_.recent_children(parent)) {
    if (except != nullptr && same_quota(*recent, *except)) continue;
    api::ResourceList more = recent->min();
    if (const Version there = known(*recent)) {
      raise(more, there->min());
      take(sum, there->min());
    }
    add(sum, more);
  }
  return sum;
}

std::string QuotaRules::check_min(const QuotaVersion& quota) const {
  if (quota.terms.force_update || quota.terms.is_tree_root) return {};
  if (!is_root(quota.terms.parent)) {
    api::ResourceList sum = min_beside(quota.terms.parent, &quota);
    add(sum, quota.min());
    for (const Version& parent : versions(quota.terms.parent))
      if (!is_within(sum, parent->min()))
        return fmt::format("checkMinQuotaSum all brothers' MinQuota > parent MinQuota, parent: {}",
                           quota.terms.parent);
  }
  if (has_children(quota.name()) && !is_within(min_beside(quota.name(), nullptr), quota.min()))
    return fmt::format("checkMinQuotaSum all children's MinQuota > current MinQuota, current: {}",
                       quota.name());
  return {};
}

std::string QuotaRules::check_guaranteed(const QuotaVersion& quota) const {
  if (quota.terms.force_update || quota.terms.tree_id.empty() || quota.terms.is_tree_root) return {};
  api::ResourceList wanted = guaranteed(quota);
  if (is_within(quota.min(), wanted)) return {};
  raise(wanted, quota.min());
  std::string self = quota.name(), above = quota.terms.parent;
  std::set<std::string> seen;
  while (!is_root(above)) {
    const Version parent = catalog_.find(above);
    if (!parent || !seen.insert(above).second) return fmt::format("parent {} not found", above);
    for (const Version& child : catalog_.children(above))
      if (child->name() != self) add(wanted, guaranteed(*child));
    raise(wanted, parent->min());
    if (is_within(wanted, guaranteed(*parent))) return {};
    self = above;
    above = parent->terms.parent;
  }
  return fmt::format("tree root quota {} can't guarantee for min", self);
}

std::string QuotaRules::quota_of_pod(std::string_view label, std::string_view ns) const {
  if (options_.without_default || !label.empty()) return std::string(label);
  if (catalog_.find(ns, ns)) return std::string(ns);
  const Version bound = catalog_.of_namespace(ns);
  return bound ? bound->name() : std::string(api::kDefaultQuota);
}

QuotaRuling QuotaRules::check_pod(std::string_view label, std::string_view ns, std::string_view pod) const {
  if (options_.parents_may_own_pods) return {};
  const std::string name = quota_of_pod(label, ns);
  if (name == api::kDefaultQuota) return {};
  for (const Version& version : versions(name))
    if (version->terms.is_parent)
      return {fmt::format("pod can not be linked to a parentQuotaGroup,quota:{}, pod:{}", name, pod),
              catalog_.has_recent()};
  return {};
}

}  // namespace koord::manager
