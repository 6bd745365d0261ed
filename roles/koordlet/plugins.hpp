// The koordlet's strategies: one table.
#pragma once

#include "framework/qos/plugin.hpp"

namespace koord::koordlet {

StrategyTable strategy_table();

}  // namespace koord::koordlet
