// ResctrlUse: what classes of pods use of the last-level caches and of the memory's bandwidth.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "framework/tick/tick_view.hpp"

namespace koord::koordlet {

/// In a tick's view where the gate ResctrlCollector and --enable-resctrl-collector are on.
struct ResctrlUse {
  static constexpr std::array<std::string_view, 3> kClasses = {"LSR", "LS", "BE"};
  struct Cache {
    int id = 0;
    double occupancy = kUnknown;  // bytes
    /// Bytes a second since the reading before: of the memory behind this cache, and of all.
    double local = kUnknown, total = kUnknown;
  };
  /// Ascending by id; empty: the class has no group of resctrl.
  std::array<std::vector<Cache>, kClasses.size()> classes;
  std::uint64_t reading = 0;  // grows with each period that was read
};

}  // namespace koord::koordlet
