// The koordlet's strategies: one table.
#pragma once

#include <span>

#include "framework/qos/plugin.hpp"

namespace koord::koordlet {

std::span<const StrategyEntry> strategy_table();

}  // namespace koord::koordlet
