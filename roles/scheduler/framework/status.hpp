// Status: what a plugin answers after the choice of a node.
#pragma once

#include <string>
#include <utility>

#include "framework/status_code.hpp"

namespace koord::scheduler {

struct Status {
  StatusCode code = StatusCode::success;
  std::string message = {};  // of anything but a success

  bool ok() const { return code == StatusCode::success; }
  /// The pod is at fault, or the cluster; not the plugin.
  bool rejected() const {
    return code == StatusCode::unschedulable || code == StatusCode::unresolvable ||
           code == StatusCode::pending;
  }
};

}  // namespace koord::scheduler
