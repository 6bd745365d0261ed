// How many pods of a workload may be away at once.
#pragma once

#include <cstdint>
#include <optional>

#include "koord/api/values/int_or_string.hpp"
#include "koord/base/result.hpp"

namespace koord::descheduler {

/// Of `replicas` pods, by maxUnavailablePerWorkload or maxMigratingPerWorkload: the number, or the percentage
/// of the replicas rounded down, 1 at least; no more than there are. Absent: a tenth of more than 10
/// replicas, 2 of 4 to 10, else 1. The error (Code::invalid) is that of a text that is no percentage.
Result<std::int64_t> most_away(std::int64_t replicas, const std::optional<api::IntOrString>& said);

}  // namespace koord::descheduler
