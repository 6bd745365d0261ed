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

/// The patch that says of a victim why it goes (DisruptionTarget): a pod of the profile's wants its place.
/// Nothing if it says so already.
std::optional<api::Patch> victim_patch(const api::Pod& pod, std::string_view profile, WallTime now);

}  // namespace koord::scheduler
