// Status codes of plugins' answers.
#pragma once

#include <cstdint>

namespace koord::scheduling {

/// kube-scheduler's codes of a status, as far as a plugin's answer is one of them.
enum class StatusCode : std::uint8_t {
  success,
  error,          // not the pod's fault: it is tried again after a backoff
  unschedulable,  // evicting pods may help
  unresolvable,   // UnschedulableAndUnresolvable: it does not
  wait,
  skip,
  pending,  // unschedulable until something of its own happens; no preemption
};

}  // namespace koord::scheduling
