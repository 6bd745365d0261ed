// kube-scheduler's feature gates, so that its command line may be koord's.
#pragma once

#include <string_view>
#include <vector>

#include "koord/base/feature_gate.hpp"

namespace koord::scheduling {

/// Those of kube-scheduler 1.35, with their defaults. Most are about other components; koord does what is
/// done with the defaults, and a row without a help text says so.
std::vector<FeatureGate> kube_gates();
/// Whether koord honours a gate of this name; otherwise it is set in vain.
bool has_effect(std::string_view name);

/// A gate that is on while one that it depends on is off, in Kubernetes' words: Code::invalid.
Result<> check_gates(const FeatureGates& gates);

inline constexpr std::string_view kPlacesGangs = "GangScheduling", kKnowsWorkloads = "GenericWorkload",
                                  kNominateExpected = "NominatedNodeNameForExpectation",
                                  kPopFromBackoff = "SchedulerPopFromBackoffQ",
                                  kStorageCapacityScoring = "StorageCapacityScoring",
                                  kVolumeAttributesClass = "VolumeAttributesClass",
                                  kVolumeLimitScaling = "VolumeLimitScaling";

}  // namespace koord::scheduling
