// What the scheduler writes into ElasticQuotas, and the ones that it makes.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "scheduling/plugins/elastic_quota/control/summary.hpp"

namespace koord::scheduling::elastic_quota {

/// What has to be written so that the object says what the summary does: status.used, and what the quota asks
/// for and may use in annotations. Absent: it says so. A zero is as good as no entry, an entry that was there
/// stays as a zero. An annotation that cannot be read says nothing, and is written anew. Only for the object
/// that has this uid.
std::optional<api::Patch> status_patch(const api::ElasticQuota& object, const QuotaSummary& summary);

/// The quotas that are there by themselves, as ElasticQuotaArgs has them.
struct BuiltIn {
  std::string ns;
  api::ResourceList default_max, system_max;
};
/// The root, the system's and the default quota, as Koordinator makes them where there are none.
std::array<api::ElasticQuota, 3> built_in_quotas(const BuiltIn& as);

}  // namespace koord::scheduling::elastic_quota
