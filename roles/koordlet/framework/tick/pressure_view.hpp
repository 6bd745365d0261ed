// PressureView: pressure stall information of the node, of pods and of containers.
#pragma once

#include <vector>

#include "framework/tick/tick_view.hpp"

namespace koord::koordlet {

/// Of one resource: the share of the last ten seconds, in percent, and the time in all since the group was
/// made, in microseconds, that some of its tasks, or all of them, stood still for want of it.
struct Stall {
  double some_avg10 = kUnknown, full_avg10 = kUnknown;
  double some_total_us = kUnknown, full_total_us = kUnknown;
};
struct Pressure {
  Stall cpu, memory, io;
};

/// In a tick's view while the gate PSICollector is on: as it was read last, every --psi-collector-interval;
/// what the kernel does not tell is unknown.
struct PressureView {
  Pressure node;
  std::vector<Pressure> pods;        // one for each of the inventory's pods
  std::vector<Pressure> containers;  // one for each of TickView::containers
};

}  // namespace koord::koordlet
