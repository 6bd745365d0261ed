// The agent's part of `koord docs`.
#pragma once

#include <string>

#include "framework/qos/plugin.hpp"
#include "framework/sampler/collector.hpp"

namespace koord::koordlet {

/// The standalone configuration and what is served, as markdown, from the tables in the code.
std::string docs(StrategyTable strategies, CollectorTable collectors);

}  // namespace koord::koordlet
