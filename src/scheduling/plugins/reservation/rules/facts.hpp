// What a Reservation says: whether it may be placed, whether it is there to be used, and when it is over.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/base/clock.hpp"
#include "scheduling/plugins/reservation/rules/owners.hpp"

namespace koord::scheduling::reservation {

/// What of a pod template is read.
struct PodTemplate {
  api::ObjectMeta metadata;
  api::PodSpec spec;
  KOORD_STRUCT(PodTemplate);
};
/// Absent: there is none. An error says why it cannot be read.
Result<std::optional<PodTemplate>> pod_template(const api::Reservation& reservation);

/// It is on a node, for its owners to use.
bool is_available(const api::Reservation& reservation);
/// The same, or it waits there for something.
bool is_active(const api::Reservation& reservation);
/// Succeeded or Failed: it keeps no room.
bool is_over(const api::Reservation& reservation);
/// Failed because its time was up, or its node gone.
bool is_expired(const api::Reservation& reservation);
/// By default one pod uses a reservation up.
bool allocates_once(const api::Reservation& reservation);

/// What it lacks to be placed, in Koordinator's words; empty: nothing. Who lacks something is neither queued
/// nor counted.
std::string_view what_it_lacks(const api::Reservation& reservation);
/// What it keeps, or would: status.allocatable once it is available, else what its template asks for.
api::ResourceList kept_by(const api::Reservation& reservation);

/// Its time is up, and it is not over yet. A ttl of 0 is for ever, whatever `expires` says.
bool expires_now(const api::Reservation& reservation, WallTime now);
/// When it is worth to look at it again, at most 15 s from now; absent: nothing of it changes with time.
std::optional<nanoseconds> next_look(const api::Reservation& reservation, WallTime now);

/// How far its pods may go beyond what it keeps. Reservations of the policy `none` share no node with others.
enum class Policy : std::uint8_t {
  none,
  aligned,     // what it lacks, they take of the node
  restricted,  // of its resources they take no more than it has
};

/// A pod that runs to keep room which others may have in its place: once, and more of the node where it is
/// too little.
bool operates_as_reservation(const api::Pod& pod);

/// A reservation, read once.
struct Facts {
  explicit Facts(const api::Reservation& reservation);
  /// Of a pod that is a reservation itself (operates_as_reservation()).
  explicit Facts(const api::Pod& pod);

  std::string name, uid;
  Symbol node;
  api::SymbolMap labels;
  api::List<api::Taint> taints;
  Owners owners;
  /// What cannot be read of it: it serves nobody then. Empty: nothing.
  std::string broken;
  /// What of it is passed over as it cannot be read, and what follows. Empty: nothing.
  std::string unread;
  api::ResourceList allocatable;
  /// What its pods have of it is counted of these: all that it keeps, or those that a Restricted one names.
  std::vector<Symbol> counted;
  /// What of it an operator keeps back from its pods.
  api::ResourceList reserved;
  std::int64_t order = 0;  // not 0: of several the least is used first
  Policy policy = Policy::none;
  bool available = false;
  bool once = true;
  bool closed = false;  // unschedulable, or being deleted
  bool going = false;   // being deleted
  // With spec.preAllocation: it may be placed by taking the room of running pods over.
  bool pre_allocates = false;
  bool from_cluster = false;  // of those that anybody may have (mode Cluster), not of its owners
  bool several = false;       // more than one (enableMultiple)
  bool required = false;      // and not without (label pre-allocation-required)
  bool owned = false;         // a pod that is one says that somebody has its room

  bool counts(std::string_view resource) const;
};

/// Those of `amounts` that are among `names`.
api::ResourceList only(const api::ResourceList& amounts, const std::vector<Symbol>& names);
void add(api::ResourceList& to, const api::ResourceList& more);
/// No amount goes below zero.
void take(api::ResourceList& from, const api::ResourceList& less);

}  // namespace koord::scheduling::reservation
