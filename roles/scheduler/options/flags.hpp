// The scheduler's flags: kube-scheduler's, and koord-scheduler's as far as there is something to set.
#pragma once

#include <span>

#include "koord/base/feature_gate.hpp"
#include "koord/runtime/flags.hpp"
#include "koord/scheduling/config/config.hpp"

namespace koord::scheduler {

std::span<const runtime::Flag> flags();
/// koord-scheduler's feature gates and kube-scheduler's.
std::span<const FeatureGate> gates();
/// Whether koord honours it; otherwise it is set in vain.
bool gate_has_effect(const FeatureGate& gate);

/// The configuration in effect: the file of --config completed with kube-scheduler's defaults, or koord's own
/// defaults; over it the --leader-elect* flags that were given (and without a file the deprecated ones).
/// Errors name the file, or the flag.
struct Configuration {
  scheduling::KubeSchedulerConfiguration config;
  bool from_file = false;
  /// --koordinator-semantics: pods and nodes are what Koordinator makes of them, and DefaultPreBind is there.
  /// Else koord does as kube-scheduler.
  bool koordinators = true;
};
/// Completes one that was read: kube-scheduler's defaults, and Koordinator's where it is Koordinator's.
Result<> finish(Configuration& configuration, scheduling::PluginTable table, const FeatureGates& gates = {});
Result<Configuration> read_configuration(const runtime::FlagValues& flags, const FeatureGates& gates = {});

}  // namespace koord::scheduler
