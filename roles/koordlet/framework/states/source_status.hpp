// SourceStatus: how one of the places is doing that the agent's knowledge comes from.
#pragma once

#include <optional>
#include <string>

#include "koord/base/clock.hpp"

namespace koord::koordlet {

struct SourceStatus {
  std::string name;   // "kubelet", "API server", a file's name
  bool ok = false;    // the last answer was good
  std::string error;  // of the last bad answer while !ok; what is in effect is older then
  std::optional<WallTime> last_good;
};

}  // namespace koord::koordlet
