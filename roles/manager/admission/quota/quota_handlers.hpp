// ElasticQuotas under admission: what a new one does not say is set, and what its tree forbids is refused.
#pragma once

#include <memory>
#include <string>

#include "admission/quota/quota_rules.hpp"
#include "framework/webhook/admission.hpp"
#include "koord/base/log.hpp"

namespace koord::manager {

/// What all that is asked about quotas looks them up in: one a process.
struct QuotaParts {
  std::shared_ptr<QuotaCatalog> catalog;
  std::shared_ptr<const QuotaRules> rules;
};

/// /mutate-scheduling-sigs-k8s-io-v1alpha1-elasticquota: quotas that are made.
class QuotaMutating final : public MutatingHandler {
 public:
  QuotaMutating(QuotaParts parts, metrics::Registry& registry);

  Verdict handle(const AdmissionRequest& request, json::Document& object, const PluginTimes& times) override;

  static const metrics::Table kMetrics;

 private:
  Verdict fill(const AdmissionRequest& request, json::Document& object);

  QuotaParts parts_;
  metrics::Family<metrics::Gauge> weights_;
};

/// /validate-scheduling-sigs-k8s-io-v1alpha1-elasticquota. What it admits is remembered until the cluster
/// shows it (see QuotaCatalog), unless it is a dry run.
class QuotaValidating final : public ValidatingHandler {
 public:
  explicit QuotaValidating(QuotaParts parts, metrics::Registry& registry);

  Verdict handle(const AdmissionRequest& request, const PluginTimes& times) override;

 private:
  Verdict check(const AdmissionRequest& request);

  QuotaParts parts_;
  metrics::Family<metrics::Gauge> weights_;
};

/// What /elasticQuota shows: quotas with their parents, mins and maxs, and the children of each, as upstream
/// writes it; children by name.
std::string quota_page(QuotaCatalog& catalog);

}  // namespace koord::manager
