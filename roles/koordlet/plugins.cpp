// The table of strategies, strongest first.
#include "plugins.hpp"

#include <array>

#include "plugins/cpu_suppress/cpu_suppress.hpp"

namespace koord::koordlet {

std::span<const StrategyEntry> strategy_table() {
  static constexpr std::array<StrategyEntry, 1> kTable{{
      {cpu_suppress::kName, cpu_suppress::kGate, &cpu_suppress::make},
  }};
  return kTable;
}

}  // namespace koord::koordlet
