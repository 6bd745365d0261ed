// What is written into pods whose room a reservation takes over, before it is bound.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "koord/api/koordinator/reservation.hpp"
#include "koord/scheduling/plugin/cycle_plugin.hpp"

namespace koord::scheduling::reservation {

struct TakenOver {
  api::ReservationAllocated reservation;
  /// They say from now on that they have room of it.
  std::vector<std::shared_ptr<const api::Pod>> pods = {};
  /// They have said so since an attempt that came to nothing, and do no more.
  std::vector<std::shared_ptr<const api::Pod>> not_any_more = {};
};

/// Fails, and the reservation with it, where one of the pods is gone, going, on another node, or has room of
/// another reservation by then: nobody's annotation is written over. What was written before that stays, and
/// is found by the next attempt.
std::shared_ptr<PreBindWork> take_over(TakenOver what);

}  // namespace koord::scheduling::reservation
