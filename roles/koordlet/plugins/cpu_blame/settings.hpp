// What a NodeSLO says of CPU blame: the key "cpuBlame" of its extensions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "koord/api/schema/schema.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet::cpu_blame {

struct Settings {
  bool enable = false;
  std::int64_t target_microseconds = 0;
  std::optional<std::int64_t> min_percent;
  bool idle = true;
  std::optional<bool> quota;  // unless it is there: where groups cannot be idle
  KOORD_STRUCT(Settings);
};

/// Of the extensions' text: the key as it is, or within "Object", as the manager writes extensions; the first
/// counts where both are there. Off where neither is. An error's message starts with the path of what is
/// wrong: "extensions.cpuBlame.minPercent: ...".
Result<Settings> read_settings(std::string_view extensions);

}  // namespace koord::koordlet::cpu_blame
