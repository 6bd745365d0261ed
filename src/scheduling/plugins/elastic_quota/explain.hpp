// What `koord explain` says of a pod and its quota.
#pragma once

#include <string>
#include <vector>

#include "scheduling/plugins/elastic_quota/book.hpp"
#include "scheduling/plugins/elastic_quota/check.hpp"

namespace koord::scheduling::elastic_quota {

/// Sentences: of a pod that its quota (or one above it) refuses which one, from the root down, what is used
/// of what, and who has borrowed beside it; else what its quota has left. Nothing of a pod of the default
/// quota that is not refused. The pod's request counts in the quota.
std::vector<std::string> explain_quota(const QuotaBook& book, QuotaBook::Place place,
                                       const std::optional<Refusal>& refusal, CheckRules rules);

}  // namespace koord::scheduling::elastic_quota
