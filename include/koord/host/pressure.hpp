// Pressure stall information: /proc/pressure/* and the *.pressure files of cgroups.
#pragma once

#include <cstdint>
#include <string_view>

#include "koord/base/result.hpp"

namespace koord::host {

/// One line: the share of time stalled over 10, 60 and 300 seconds, in percent, and the total in
/// microseconds.
struct PressureLine {
  double avg10 = 0, avg60 = 0, avg300 = 0;
  std::uint64_t total_us = 0;
};

struct Pressure {
  PressureLine some;
  PressureLine full;
  /// The CPU controller of kernels before 5.13 has no "full" line.
  bool has_full = false;
};

/// Code::parse if "some" is missing or a value is not a number.
Result<Pressure> parse_pressure(std::string_view text);

}  // namespace koord::host
