// The table of collectors, in the order in which they sample: each sees what those above it have read.
#include "collectors.hpp"

namespace koord::koordlet {

extern const CollectorEntry kBestEffort;
extern const CollectorEntry kColdPages;
extern const CollectorEntry kCpi;
extern const CollectorEntry kGpu;
extern const CollectorEntry kGroups;
extern const CollectorEntry kHugePages;
extern const CollectorEntry kInterference;
extern const CollectorEntry kNode;
extern const CollectorEntry kPressure;
extern const CollectorEntry kResctrlCollector;
extern const CollectorEntry kRunQueue;
extern const CollectorEntry kStalls;
extern const CollectorEntry kStorage;
extern const CollectorEntry kSystem;
extern const CollectorEntry kTracer;
extern const CollectorEntry kVgpu;
extern const CollectorEntry kWaitBlame;

CollectorTable collector_table() {
  static constexpr const CollectorEntry* kTable[] = {
      &kNode, &kGroups, &kBestEffort, &kSystem,    &kPressure, &kColdPages, &kResctrlCollector,
      &kCpi,  &kTracer, &kRunQueue,   &kWaitBlame, &kStalls,   &kStorage,   &kInterference,
      &kGpu,  &kVgpu,   &kHugePages,
  };
  return kTable;
}

}  // namespace koord::koordlet
