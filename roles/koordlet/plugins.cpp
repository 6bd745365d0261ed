// The table of strategies, strongest first.
#include "plugins.hpp"

namespace koord::koordlet {

extern const StrategyEntry kCpuBurst;
extern const StrategyEntry kCpuEvict;
extern const StrategyEntry kCpuSuppress;
extern const StrategyEntry kMemoryEvict;
extern const StrategyEntry kMemoryQos;
extern const StrategyEntry kSystemConfig;

StrategyTable strategy_table() {
  static constexpr const StrategyEntry* kTable[] = {
      &kCpuSuppress, &kCpuBurst, &kCpuEvict, &kMemoryEvict, &kMemoryQos, &kSystemConfig,
  };
  return kTable;
}

}  // namespace koord::koordlet
