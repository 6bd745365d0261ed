// The Reservation that a DrainNode makes for a pod, made from the pod.
#pragma once

#include <string>
#include <string_view>

#include "koord/api/types/scheduling_v1alpha1/drain_node.hpp"
#include "koord/base/result.hpp"

namespace koord::descheduler::drain {

/// The document to create: room for a pod like `pod` (the whole document, as the API server has it), used
/// once, by a pod of its controller, on any node that is not drained, and rather on none of a group. It
/// stays as long as the DrainNode wants it. Errors: `pod` cannot be read, or has no controller.
Result<std::string> reservation_for(const api::DrainNode& drain, std::string_view pod);

}  // namespace koord::descheduler::drain
