// Quotas as JSON for people: what the plugin serves.
#pragma once

#include <optional>

#include "koord/scheduling/plugin/service_plugin.hpp"
#include "scheduling/plugins/elastic_quota/book.hpp"

namespace koord::scheduling::elastic_quota {

/// /quotas/NAME: one quota; /quotas: all but the root, by name, with ?tree=ID those of one tree. With
/// ?includePods=true also the pods that are counted in each. Koordinator's members, in its words. Absent:
/// there is nothing at this path.
std::optional<ServiceAnswer> serve_quotas(const QuotaBook& book, const ServiceRequest& request);

}  // namespace koord::scheduling::elastic_quota
