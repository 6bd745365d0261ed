// Configuration: a scheduler's configuration in effect, for the scheduler and for who asks what it would do.
#pragma once

#include <string>
#include <string_view>

#include "koord/scheduling/config/config.hpp"

namespace koord::scheduling {

struct Configuration {
  KubeSchedulerConfiguration config;
  bool from_file = false;
  /// --koordinator-semantics: pods and nodes are what Koordinator makes of them, and DefaultPreBind is there.
  /// Else koord does as kube-scheduler.
  bool koordinators = true;
};

/// Completes one that was read: kube-scheduler's defaults, and Koordinator's where it is Koordinator's.
Result<> finish(Configuration& configuration, PluginTable table, const FeatureGates& gates = {});

/// For who asks a scheduler's plugins and is no scheduler: the file, completed and checked; empty: koord's
/// defaults, the same profile for koord-scheduler and default-scheduler. Errors name the file and its line.
Result<Configuration> configuration_to_ask(const std::string& path, bool koordinators, PluginTable table,
                                           const FeatureGates& gates);
/// The same of a text in place of the file; errors name `place` and the line.
Result<Configuration> configuration_of_text(std::string_view text, const std::string& place,
                                            bool koordinators, PluginTable table, const FeatureGates& gates);

}  // namespace koord::scheduling
