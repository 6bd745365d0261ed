// What a failed attempt changes in a pod's status.
#pragma once

#include <optional>
#include <string_view>

#include "koord/api/schema/codec.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/symbol.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduler {

/// Why an attempt failed.
struct Failure {
  std::string_view reason;  // Unschedulable or SchedulerError
  std::string_view message;
  /// What the nominated node becomes, empty: none; absent: it stays as it is.
  std::optional<Symbol> nominate;
  WallTime now;
};

/// The patch that sets PodScheduled=False and the nominated node; nothing if the pod says so already.
std::optional<api::Patch> failure_patch(const api::Pod& pod, const Failure& failure);

/// The patch that sets the nominated node alone; nothing if it is that.
std::optional<api::Patch> nomination_patch(const api::Pod& pod, const Symbol& node);

}  // namespace koord::scheduler
