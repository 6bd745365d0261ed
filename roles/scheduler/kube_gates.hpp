// kube-scheduler's feature gates, so that its command line may be koord's.
#pragma once

#include <vector>

#include "koord/base/feature_gate.hpp"

namespace koord::scheduler {

/// Those of kube-scheduler 1.35, with their defaults. Most are about other components; koord does what is
/// done with the defaults, and a row without a help text says so.
std::vector<FeatureGate> kube_gates();

}  // namespace koord::scheduler
