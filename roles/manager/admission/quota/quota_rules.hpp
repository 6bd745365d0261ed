// The rules of ElasticQuotas: what one must say, how it fits its parent and its children, who may be removed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "admission/quota/quota_catalog.hpp"

namespace koord::manager {

/// What a rule says of a write. The texts are upstream's.
struct QuotaRuling {
  std::string wrong;  // empty: it is allowed
  /// What was missing, or held it back, may be otherwise in a moment.
  bool again = false;
};

struct QuotaRuleOptions {
  bool keys_may_differ = false;       // gate ElasticQuotaEnableUpdateResourceKey
  bool guarantees_usage = false;      // gate ElasticQuotaGuaranteeUsage
  bool parents_may_own_pods = false;  // gate SupportParentQuotaSubmitPod
  bool without_default = false;       // gate DisableDefaultQuota
};

/// Pods as the rules look them up: those that have not ended.
struct QuotaPods {
  /// Names of pods with the label of a quota, in no particular order.
  std::function<std::vector<std::string>(std::string_view quota)> of_quota;
  std::function<bool(std::string_view ns)> in_namespace;
};

/// Pure but for what it looks up. All that the catalog knows holds, and what it remembers of the last moment
/// holds beside it: a write has to fit both.
class QuotaRules {
 public:
  /// The catalog outlives it.
  QuotaRules(const QuotaCatalog& catalog, QuotaPods pods, QuotaRuleOptions options)
      : catalog_(catalog), pods_(std::move(pods)), options_(options) {}

  /// Sets what a new quota does not say: its parent, its parent's tree, its shared weight. `weight_set`: the
  /// weight was set from spec.max. The root stays as it is.
  QuotaRuling fill(api::ElasticQuota& quota, bool& weight_set) const;

  QuotaRuling check_create(const QuotaVersion& quota) const;
  /// `before`: as it is stored.
  QuotaRuling check_update(const QuotaVersion& before, const QuotaVersion& after) const;
  QuotaRuling check_delete(const QuotaVersion& quota) const;

  /// The quota that a pod of that namespace is counted in, by its label (may be empty) or its namespace; the
  /// default quota where nothing says otherwise. With `without_default` the label alone.
  std::string quota_of_pod(std::string_view label, std::string_view ns) const;
  /// A pod of a quota that has children is nobody's to count.
  QuotaRuling check_pod(std::string_view label, std::string_view ns, std::string_view pod) const;

 private:
  QuotaRuling check_place(const QuotaVersion* before, const QuotaVersion& quota) const;
  std::string check_itself(const QuotaVersion& quota) const;
  std::string check_becomes_parent(const QuotaVersion& before, const QuotaVersion& quota) const;
  std::string check_tree(const QuotaVersion* before, const QuotaVersion& quota) const;
  QuotaRuling check_parent(const QuotaVersion& quota) const;
  std::string check_keys(const QuotaVersion& quota) const;
  std::string check_min(const QuotaVersion& quota) const;
  std::string check_guaranteed(const QuotaVersion& quota) const;
  /// What the children of `parent` but `except` are sure of, at most.
  api::ResourceList min_beside(std::string_view parent, const QuotaVersion* except) const;
  /// What is known of a name, and what is remembered.
  std::vector<QuotaCatalog::Version> versions(std::string_view name) const;
  std::vector<QuotaCatalog::Version> versions_of_children(std::string_view parent) const;
  bool has_children(std::string_view name) const;

  const QuotaCatalog& catalog_;
  const QuotaPods pods_;
  const QuotaRuleOptions options_;
};

}  // namespace koord::manager
