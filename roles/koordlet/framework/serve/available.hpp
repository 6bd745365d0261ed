// The metric that says whether a collector works that not every kernel allows.
#pragma once

#include "koord/base/metrics.hpp"

namespace koord::koordlet {

inline constexpr metrics::Metric kCollectorAvailable{
    .name = "koordlet_collector_available",
    .type = metrics::Type::gauge,
    .help = "Whether an optional collector works on this kernel.",
    .labels = {"collector"}};

}  // namespace koord::koordlet
