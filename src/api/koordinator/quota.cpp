#include "koord/api/koordinator/quota.hpp"

#include <algorithm>

namespace koord::api {
namespace {

bool is_zero(const ResourceList& list) {
  return std::ranges::all_of(list, [](const auto& entry) { return entry.value.is_zero(); });
}

}  // namespace

QuotaTerms quota_terms(const ElasticQuota& quota) {
  const SymbolMap& labels = quota.metadata.labels;
  const SymbolMap& annotations = quota.metadata.annotations;
  const auto says = [&](std::string_view label, std::string_view value) {
    return value_or(labels, label) == value;
  };
  QuotaTerms terms;
  terms.parent = value_or(labels, kQuotaParentLabel);
  if (terms.parent.empty() && quota.metadata.name != kRootQuota) terms.parent = kRootQuota;
  terms.is_parent = says(kQuotaIsParentLabel, "true");
  terms.lends = !says(kQuotaLendsLabel, "false");
  terms.force_update = says(kQuotaForceUpdateLabel, "true");
  terms.is_tree_root = says(kQuotaIsRootLabel, "true");
  terms.ignores_default_tree = says(kQuotaIgnoreDefaultTreeLabel, "true");
  terms.tree_id = value_or(labels, kQuotaTreeIdLabel);
  auto weight = read_annotation<AnnotatedResources>(annotations, kQuotaSharedWeight);
  terms.shared_weight =
      weight && *weight && !is_zero((*weight)->resources) ? std::move((*weight)->resources) : quota.spec.max;
  if (auto names = read_annotation<AnnotatedNames>(annotations, kQuotaNamespaces); names && *names)
    terms.namespaces = std::move((*names)->names);
  return terms;
}

std::string_view quota_name(const ObjectMeta& pod) { return value_or(pod.labels, kQuotaNameLabel); }

bool is_preemptible(const ObjectMeta& pod) { return value_or(pod.labels, kQuotaPreemptibleLabel) != "false"; }

}  // namespace koord::api
