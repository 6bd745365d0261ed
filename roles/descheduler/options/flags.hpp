// The descheduler's flags and feature gates, with koord-descheduler's names and defaults.
#pragma once

#include <span>

#include "config/config.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/runtime/flags.hpp"

namespace koord::descheduler {

std::span<const runtime::Flag> flags();
std::span<const FeatureGate> gates();

/// The configuration in effect: the file of --config completed with koord-descheduler's defaults, or those
/// alone; over it the --leader-elect* flags that were given. Errors name the file and its line, or the flag.
Result<DeschedulerConfiguration> read_configuration(const runtime::FlagValues& flags, PluginTable table);
/// The same of a text in place of the file; errors name `place` and the line.
Result<DeschedulerConfiguration> configuration_from(std::string_view text, const std::string& place,
                                                    const runtime::FlagValues& flags, PluginTable table);

}  // namespace koord::descheduler
