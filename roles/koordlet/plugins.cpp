// The table of strategies, strongest first.
#include "plugins.hpp"

namespace koord::koordlet {

extern const StrategyEntry kBatchResource;
extern const StrategyEntry kColdPageScans;
extern const StrategyEntry kBlkIo;
extern const StrategyEntry kCoreSched;
extern const StrategyEntry kCpuBlame;
extern const StrategyEntry kCpuBurst;
extern const StrategyEntry kCpuEvict;
extern const StrategyEntry kCpuNormalization;
extern const StrategyEntry kCpuSuppress;
extern const StrategyEntry kCpusetAllocator;
extern const StrategyEntry kGpuEnvInject;
extern const StrategyEntry kGroupIdentity;
extern const StrategyEntry kMemoryBandwidth;
extern const StrategyEntry kMemoryEvict;
extern const StrategyEntry kMemoryQos;
extern const StrategyEntry kOomScoreAdj;
extern const StrategyEntry kRdmaDeviceInject;
extern const StrategyEntry kRdtResctrl;
extern const StrategyEntry kResctrlPods;
extern const StrategyEntry kSystemConfig;

StrategyTable strategy_table() {
  static constexpr const StrategyEntry* kTable[] = {
      &kCpuBlame,      &kCpuSuppress,      &kCpuBurst,        &kCpuEvict,        &kMemoryEvict,
      &kMemoryQos,     &kSystemConfig,     &kBatchResource,   &kCpusetAllocator, &kCpuNormalization,
      &kGroupIdentity, &kCoreSched,        &kOomScoreAdj,     &kBlkIo,           &kColdPageScans,
      &kGpuEnvInject,  &kRdmaDeviceInject, &kMemoryBandwidth, &kResctrlPods,     &kRdtResctrl,
  };
  return kTable;
}

}  // namespace koord::koordlet
