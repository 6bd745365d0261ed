// Status: what a plugin answers after the choice of a node.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "koord/base/symbol.hpp"
#include "koord/scheduling/plugin/status_code.hpp"

namespace koord::scheduling {

/// As in kube-scheduler's metrics.
constexpr std::string_view label(StatusCode code) {
  switch (code) {
    case StatusCode::success: return "Success";
    case StatusCode::error: return "Error";
    case StatusCode::unschedulable: return "Unschedulable";
    case StatusCode::unresolvable: return "UnschedulableAndUnresolvable";
    case StatusCode::wait: return "Wait";
    case StatusCode::skip: return "Skip";
    case StatusCode::pending: return "Pending";
  }
  return "";
}

/// What becomes of a pod's nomination when it is rejected after the choice of a node.
enum class Nomination : std::uint8_t {
  clear,  // it is taken back
  keep,   // it is what the pod's status says
  force,  // it is the node that had been chosen
};

struct Status {
  StatusCode code = StatusCode::success;
  std::string message = {};  // of anything but a success
  /// Of a rejection or a wait: what of the plugin's it is for, see RejectorKey.
  Symbol key = {};
  /// Of a rejection by Reserve or Permit.
  Nomination nomination = Nomination::clear;

  bool ok() const { return code == StatusCode::success; }
  /// The pod is at fault, or the cluster; not the plugin.
  bool rejected() const {
    return code == StatusCode::unschedulable || code == StatusCode::unresolvable ||
           code == StatusCode::pending;
  }
};

}  // namespace koord::scheduling
