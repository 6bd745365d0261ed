// Quotas: what labels and annotations say of ElasticQuotas, and of the pods that are counted in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"

namespace koord::api {

// The three that the scheduler makes.
inline constexpr std::string_view kRootQuota = "koordinator-root-quota",
                                  kSystemQuota = "koordinator-system-quota",
                                  kDefaultQuota = "koordinator-default-quota";

// Labels of pods.
inline constexpr std::string_view kQuotaNameLabel = "quota.scheduling.koordinator.sh/name",
                                  kQuotaPreemptibleLabel = "quota.scheduling.koordinator.sh/preemptible";
// Labels of quotas and of ElasticQuotaProfiles.
inline constexpr std::string_view kQuotaIsParentLabel = "quota.scheduling.koordinator.sh/is-parent",
                                  kQuotaParentLabel = "quota.scheduling.koordinator.sh/parent",
                                  kQuotaLendsLabel = "quota.scheduling.koordinator.sh/allow-lent-resource",
                                  kQuotaProfileLabel = "quota.scheduling.koordinator.sh/profile",
                                  kQuotaIsRootLabel = "quota.scheduling.koordinator.sh/is-root",
                                  kQuotaTreeIdLabel = "quota.scheduling.koordinator.sh/tree-id",
                                  kQuotaIgnoreDefaultTreeLabel =
                                      "quota.scheduling.koordinator.sh/ignore-default-tree",
                                  kQuotaForceUpdateLabel =
                                      "quota.scheduling.koordinator.sh/allow-force-update";
// Annotations of quotas. AnnotatedResources:
inline constexpr std::string_view kQuotaSharedWeight = "quota.scheduling.koordinator.sh/shared-weight",
                                  kQuotaTotal = "quota.scheduling.koordinator.sh/total-resource",
                                  kQuotaUnschedulable =
                                      "quota.scheduling.koordinator.sh/unschedulable-resource",
                                  kQuotaAdmission = "quota.scheduling.koordinator.sh/admission",
                                  // written by the scheduler
    kQuotaRuntime = "quota.scheduling.koordinator.sh/runtime",
                                  kQuotaRequest = "quota.scheduling.koordinator.sh/request",
                                  kQuotaChildRequest = "quota.scheduling.koordinator.sh/child-request",
                                  kQuotaGuaranteed = "quota.scheduling.koordinator.sh/guaranteed",
                                  kQuotaAllocated = "quota.scheduling.koordinator.sh/allocated",
                                  kQuotaNonPreemptibleRequest =
                                      "quota.scheduling.koordinator.sh/non-preemptible-request",
                                  kQuotaNonPreemptibleUsed =
                                      "quota.scheduling.koordinator.sh/non-preemptible-used";
// AnnotatedNames:
inline constexpr std::string_view kQuotaNamespaces = "quota.scheduling.koordinator.sh/namespaces",
                                  kQuotaResourceKeys = "quota.scheduling.koordinator.sh/resource-keys",
                                  kQuotaStrictKeys =
                                      "quota.scheduling.koordinator.sh/max-strict-check-resource-keys";

/// A quota's place in its tree, and how it shares. An annotation that cannot be read counts as absent.
struct QuotaTerms {
  std::string parent;  // the root's name where nothing is said; of the root itself empty
  bool is_parent = false;
  bool lends = true;
  bool force_update = false;
  bool is_tree_root = false;
  bool ignores_default_tree = false;
  std::string tree_id;                  // empty: the default tree
  ResourceList shared_weight;           // spec.max where nothing is said, or zeros alone
  std::vector<std::string> namespaces;  // whose pods are counted in it
  friend bool operator==(const QuotaTerms&, const QuotaTerms&) = default;
};
QuotaTerms quota_terms(const ElasticQuota& quota);

/// The quota that a pod names; empty: none.
std::string_view quota_name(const ObjectMeta& pod);
/// Pods are, unless they say otherwise.
bool is_preemptible(const ObjectMeta& pod);

}  // namespace koord::api
