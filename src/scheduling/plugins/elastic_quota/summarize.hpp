// summarize(): what a QuotaBook knows of one quota.
#pragma once

#include <cstdint>
#include <string_view>

#include "scheduling/plugins/elastic_quota/book.hpp"
#include "scheduling/plugins/elastic_quota/control/summary.hpp"

namespace koord::scheduling::elastic_quota {

/// Of a quota that there is; `tree_id` is that of the place's tree.
QuotaSummary summarize(const QuotaBook& book, std::string_view tree_id, QuotaBook::Place place);

/// The same for two quotas of which summarize() says the same; it costs a hundredth of that. Others have
/// another one, but for one in 2^64.
std::uint64_t fingerprint(std::string_view tree_id, QuotaBook::Place place);

}  // namespace koord::scheduling::elastic_quota
