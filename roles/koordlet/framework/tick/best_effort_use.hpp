// BestEffortUse: what the best-effort tier has and uses.
#pragma once

#include "framework/tick/tick_view.hpp"

namespace koord::koordlet {

/// CPU in thousandths.
struct BestEffortUse {
  double usage_milli = kUnknown;       // of its roots, with all that is in them
  double request_milli = kUnknown;     // the sum of kubernetes.io/batch-cpu of BE pods
  double real_limit_milli = kUnknown;  // its cpuset capped by its quota
  double memory = kUnknown;            // bytes, of its roots, without page cache
};

/// As a tick's view has it; all of it unknown where nobody shows it.
inline BestEffortUse best_effort_use(const TickView& view) {
  const BestEffortUse* const shown = view.find<BestEffortUse>();
  return shown != nullptr ? *shown : BestEffortUse{};
}

}  // namespace koord::koordlet
