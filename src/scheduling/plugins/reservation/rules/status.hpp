// What is written into a Reservation's status, as Koordinator words it.
#pragma once

#include <string_view>

#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/base/clock.hpp"

namespace koord::scheduling::reservation {

inline constexpr std::string_view kInactive = "reservation is not active";

/// No node will do, for now. One that has been placed stays as it is. False: it says so already.
bool set_unschedulable(api::Reservation& reservation, std::string_view message, WallTime now);
/// On the node: what its template asks for is kept from now on, or what the annotation
/// reservation-resize-allocatable says in its place.
void set_available(api::Reservation& reservation, const Symbol& node, WallTime now);
/// Its time is up, or its node gone.
void set_expired(api::Reservation& reservation, WallTime now);
/// Its room goes to what comes before it: for everybody who reads it it is expired, and the message says why.
/// One that is over stays as it is.
void set_preempted(api::Reservation& reservation, std::string_view message, WallTime now);
/// It has been used.
void set_succeeded(api::Reservation& reservation, WallTime now);

}  // namespace koord::scheduling::reservation
