// The scheduler's flags: kube-scheduler's, and koord-scheduler's as far as there is something to set.
#pragma once

#include <span>

#include "koord/base/feature_gate.hpp"
#include "koord/runtime/flags.hpp"
#include "koord/scheduling/config/configuration.hpp"

namespace koord::scheduler {

std::span<const runtime::Flag> flags();
/// The configuration in effect: the file of --config completed with kube-scheduler's defaults, or koord's own
/// defaults; over it the --leader-elect* flags that were given (and without a file the deprecated ones).
/// Errors name the file, or the flag.
Result<scheduling::Configuration> read_configuration(const runtime::FlagValues& flags,
                                                     const FeatureGates& gates = {});

}  // namespace koord::scheduler
