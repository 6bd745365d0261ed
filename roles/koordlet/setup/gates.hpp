// The agent's feature gates, with upstream's names and defaults.
#pragma once

#include <span>

#include "koord/base/feature_gate.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"

namespace koord::koordlet {

std::span<const FeatureGate> gates();

/// Says of the gates that are on which have nothing behind them: one warning names them, and
/// koordlet_feature_gate_available is 0 of these, 1 of the others. Once, at the start.
void tell_of_gates(const FeatureGates& set, Logger log, metrics::Registry& metrics);

extern const metrics::Table kGateMetrics;

}  // namespace koord::koordlet
