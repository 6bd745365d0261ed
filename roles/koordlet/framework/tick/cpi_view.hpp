// CpiView: how many cycles of the processor the instructions of each pod take.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

namespace koord::koordlet {

/// Of one window (--collect-cpi-timewindow), all containers of the pod together.
struct PodCpi {
  std::uint64_t reading = 0;  // grows with each window of the pod's that was read
  double cycles = 0, instructions = 0;
};

/// In a tick's view while the gate CPICollector is on and the machine shows its counters. Who has gone, or
/// could not be counted in its last window, is not in it.
struct CpiView {
  std::unordered_map<std::string, PodCpi> pods;  // by uid
};

}  // namespace koord::koordlet
