// What a NodeSLO says of the memory's bandwidth: the key "memoryBandwidth" of its extensions.
#pragma once

#include <cstdint>
#include <string_view>

#include "koord/api/schema/schema.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet::memory_bandwidth {

struct Settings {
  bool enable = false;
  std::int64_t capacity_megabytes = 0;  // a second, of one path; 0: nobody said, and nothing is done
  std::int64_t target_percent = 80;
  std::int64_t min_percent = 10;
  KOORD_STRUCT(Settings);
};

/// Of the extensions' text; see read_extension().
Result<Settings> read_settings(std::string_view extensions);

}  // namespace koord::koordlet::memory_bandwidth
