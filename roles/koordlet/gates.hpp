// The agent's feature gates, with upstream's names and defaults.
#pragma once

#include <span>

#include "koord/base/feature_gate.hpp"

namespace koord::koordlet {

std::span<const FeatureGate> gates();

}  // namespace koord::koordlet
