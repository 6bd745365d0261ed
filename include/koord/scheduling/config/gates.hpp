// The feature gates by which a scheduler, its plugins and who asks them go.
#pragma once

#include <span>

#include "koord/base/feature_gate.hpp"

namespace koord::scheduling {

/// koord-scheduler's feature gates and kube-scheduler's.
std::span<const FeatureGate> gates();
/// Whether koord honours it; otherwise it is set in vain.
bool gate_has_effect(const FeatureGate& gate);

}  // namespace koord::scheduling
