// What is written into ElasticQuotas: see status.hpp.
#include "scheduling/plugins/elastic_quota/control/status.hpp"

#include <algorithm>
#include <utility>

#include "koord/api/koordinator/quota.hpp"

namespace koord::scheduling::elastic_quota {

namespace {

bool says(const api::ResourceList& list, const api::ResourceList& other) {
  return std::ranges::all_of(list, [&](const auto& entry) {
    const api::Quantity* const amount = other.find(entry.key);
    return amount != nullptr ? *amount == entry.value : entry.value.is_zero();
  });
}

bool same_but_zeros(const api::ResourceList& a, const api::ResourceList& b) {
  return says(a, b) && says(b, a);
}

/// Absent: it says so already.
std::optional<api::ResourceList> to_write(const api::ResourceList& is, const api::ResourceList& is_to_be) {
  if (same_but_zeros(is, is_to_be)) return std::nullopt;
  api::ResourceList after = is_to_be;
  for (const auto& [name, amount] : is)
    if (!after.contains(name)) after[name] = api::Quantity::from_int(0);
  return after;
}

}  // namespace

std::optional<api::Patch> status_patch(const api::ElasticQuota& object, const QuotaSummary& summary) {
  const std::pair<std::string_view, const api::ResourceList*> annotations[] = {
      {api::kQuotaRuntime, &summary.runtime},
      {api::kQuotaRequest, &summary.request},
      {api::kQuotaChildRequest, &summary.child_request},
      {api::kQuotaGuaranteed, &summary.guaranteed},
      {api::kQuotaAllocated, &summary.allocated},
      {api::kQuotaNonPreemptibleRequest, &summary.non_preemptible_request},
      {api::kQuotaNonPreemptibleUsed, &summary.non_preemptible_used},
  };
  api::ElasticQuota after = object;
  bool differs = false;
  for (const auto& [key, amounts] : annotations) {
    auto read = api::read_annotation<api::AnnotatedResources>(object.metadata.annotations, key);
    std::optional<api::ResourceList> write =
        read ? to_write(*read ? (*read)->resources : api::ResourceList(), *amounts) : *amounts;
    if (!write) continue;
    after.metadata.annotations[std::string(key)] =
        api::encode_annotation(api::AnnotatedResources{*std::move(write)});
    differs = true;
  }
  if (auto write = to_write(object.status.used, summary.used)) {
    after.status.used = *std::move(write);
    differs = true;
  }
  if (!differs) return std::nullopt;
  auto patch = api::diff(object, after);
  if (!patch) return std::nullopt;
  return std::move(*patch).with_precondition({.uid = object.metadata.uid, .resource_version = {}});
}

std::array<api::ElasticQuota, 3> built_in_quotas(const BuiltIn& as) {
  std::array<api::ElasticQuota, 3> all;
  auto& [root, system, fallback] = all;
  for (api::ElasticQuota& each : all) each.metadata.namespace_ = as.ns;
  root.metadata.name = api::kRootQuota;
  root.metadata.labels[std::string(api::kQuotaIsParentLabel)] = "true";
  root.metadata.labels[std::string(api::kQuotaLendsLabel)] = "false";
  root.metadata.labels[std::string(api::kQuotaParentLabel)] = "";
  system.metadata.name = api::kSystemQuota;
  system.spec.max = as.system_max;
  fallback.metadata.name = api::kDefaultQuota;
  fallback.spec.max = as.default_max;
  return all;
}

}  // namespace koord::scheduling::elastic_quota
