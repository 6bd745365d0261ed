// Interference: of what each pod could have done of late, the share that it lost by standing still, or by its
// instructions taking longer than they usually do.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "framework/model/inventory.hpp"
#include "framework/tick/tick_view.hpp"

namespace koord::koordlet {

/// Shares in [0, 1]; unknown where nobody measures them.
struct InterferenceParts {
  /// Of the time in which its tasks could run, what they waited for a CPU. Where waits are not counted: of
  /// its time, that in which some task waited (pressure).
  double run_queue = kUnknown;
  double memory = kUnknown;  // of its time, that in which some task waited for memory: reclaim, swap
  double io = kUnknown;      // the same for block devices
  /// Of its cycles, those that its instructions would not take at the median of its last half hour.
  double cpi = kUnknown;

  /// Of all that is known together: what is lost to the one is not there to be lost to the other. Unknown
  /// where nothing is known.
  double all() const;
};

/// In a tick's view while the gate PodInterference is on and any part of it is measured. Old seconds count
/// less: half after half a minute.
struct Interference {
  struct Tier {
    Qos qos = Qos::none;
    InterferenceParts parts;
  };
  std::unordered_map<std::string, InterferenceParts>
      pods;                 // by uid; who was not seen for long enough is not there
  std::vector<Tier> tiers;  // those that have pods, in the order of their classes
};

}  // namespace koord::koordlet
