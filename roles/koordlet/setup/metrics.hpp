// The agent's metrics: what its descriptor names and the reference prints.
#pragma once

#include <vector>

#include "framework/qos/plugin.hpp"
#include "framework/sampler/collector.hpp"
#include "koord/base/metrics.hpp"

namespace koord::koordlet {

/// The tables of every part, strategy and collector, for the internal and the external registry.
std::vector<metrics::Table> metric_tables(StrategyTable strategies, CollectorTable collectors);

}  // namespace koord::koordlet
