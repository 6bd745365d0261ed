// The manager's flags and feature gates, with upstream's names and defaults.
#pragma once

#include <span>

#include "koord/base/feature_gate.hpp"
#include "koord/runtime/component_config.hpp"
#include "koord/runtime/flags.hpp"

namespace koord::manager {

std::span<const runtime::Flag> flags();
std::span<const FeatureGate> gates();

/// From --enable-leader-election and its like; an error names the flag.
Result<runtime::LeaderElectionSettings> election_settings(const runtime::FlagValues& flags);

/// Whether a list such as "*,-nodeslo" has `name`: the first entry that is the name, or "-" and the name,
/// decides; where there is neither, "*" does.
bool is_enabled(std::span<const std::string> list, std::string_view name);

}  // namespace koord::manager
