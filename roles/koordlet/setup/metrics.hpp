// The agent's metrics: what its descriptor names and the reference prints.
#pragma once

#include <span>

#include "koord/base/metrics.hpp"

namespace koord::koordlet {

/// The tables of every part and strategy, for the internal and the external registry.
std::span<const metrics::Table> metric_tables();

}  // namespace koord::koordlet
