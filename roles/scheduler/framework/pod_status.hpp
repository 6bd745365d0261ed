// What a failed attempt changes in a pod's status.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "koord/api/schema/codec.hpp"
#include "koord/base/clock.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduler {

/// The patch that sets PodScheduled=False with `reason` (Unschedulable or SchedulerError) and takes a
/// nominated node back; nothing if the pod says so already.
std::optional<api::Patch> failure_patch(const api::Pod& pod, std::string_view reason,
                                        std::string_view message, WallTime now);

}  // namespace koord::scheduler
