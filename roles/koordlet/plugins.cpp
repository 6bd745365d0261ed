// The table of strategies, strongest first.
#include "plugins.hpp"

namespace koord::koordlet {

extern const StrategyEntry kCpuSuppress;

StrategyTable strategy_table() {
  static constexpr const StrategyEntry* kTable[] = {
      &kCpuSuppress,
  };
  return kTable;
}

}  // namespace koord::koordlet
