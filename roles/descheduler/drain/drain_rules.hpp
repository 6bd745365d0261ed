// What holds for DrainNodes and DrainNodeGroups alike: names, times, when a drain ends, what is told of it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/drain_node_group.hpp"
#include "koord/base/clock.hpp"

namespace koord::descheduler::drain {

/// An object whose time is over stays for so long, for people to read.
inline constexpr std::chrono::minutes kKeptAfterTtl{5};
/// Names of drains stand in labels, which hold no more.
inline constexpr std::size_t kMaxName = 63;

/// An event about a DrainNode or a group; its action is the phase.
struct DrainEvent {
  bool warning = false;
  std::string reason;
  std::string note;
  friend bool operator==(const DrainEvent&, const DrainEvent&) = default;
};

/// The DrainNode of a group's node: "GROUP-NODE"; where that is too long, its beginning with a hash of it.
std::string drain_name(std::string_view group, std::string_view node);
/// The reservation and the job of one of its pods.
std::string part_name(std::string_view drain, std::string_view pod_uid);

/// When the time of an object is over; nothing: never.
std::optional<WallTime> ends_at(const api::ObjectMeta& meta, const std::optional<api::Duration>& ttl);
/// By one of the two labels.
bool is_abort_wanted(const api::SymbolMap& labels);
bool is_clean_up_wanted(const api::SymbolMap& labels);
bool is_ended(const api::DrainNodeGroup& group);  // Succeeded, Failed, Aborted
/// Rejected or Aborted.
bool is_refused(const api::DrainNode& drain);

/// Whether `drain` made it: by the label and by the owner's UID.
bool is_made_by(const api::ObjectMeta& part, const api::DrainNode& drain);
/// Whether the pod stays on a drained node as a matter of course: of a DaemonSet, static, mirrored, ended.
bool stays(const api::Pod& pod);

/// nullptr: there is none of the type.
const api::DrainNodeCondition* condition_of(const api::DrainNodeStatus& status, std::string_view type);
bool holds(const api::DrainNodeStatus& status, std::string_view type);
/// The time of the transition stays where the status does.
void set_condition(api::DrainNodeStatus& status, std::string_view type, bool value, std::string reason,
                   std::string message, api::Time now);

}  // namespace koord::descheduler::drain
