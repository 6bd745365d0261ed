// goes_before(): see turns.hpp.
#include "migration/jobs/turns.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "koord/api/koordinator/reservation.hpp"
#include "migration/jobs/conditions.hpp"

namespace koord::descheduler::migration {
namespace {

// As the scheduler sorts them.
auto place_of(const api::Reservation& reservation) {
  const std::int64_t order = api::reservation_order(reservation.metadata);
  return std::tuple(order == 0, order, std::string_view(reservation.metadata.name));
}

bool finds_no_node(const api::Reservation& reservation) {
  return std::ranges::any_of(reservation.status.conditions, [](const api::ReservationCondition& c) {
    return c.type == "Scheduled" && c.status == "False";
  });
}

/// It is free, or will be.
bool may_be_taken(const api::Reservation& reservation) {
  const Symbol& phase = reservation.status.phase;
  if (phase == "Available") return reservation.status.current_owners.empty();
  return (phase.empty() || phase == "Pending") && !finds_no_node(reservation);
}

}  // namespace

bool goes_before(const api::PodMigrationJob& other, const api::Reservation* others,
                 const api::Reservation& own) {
  if (condition_of(other.status, "Eviction") != nullptr) return false;
  if (others == nullptr)
    return other.spec.reservation_options && other.spec.reservation_options->reservation_ref;
  return !is_for_one_pod(*others) && place_of(*others) < place_of(own) && may_be_taken(*others);
}

bool is_for_one_pod(const api::Reservation& reservation) {
  return std::ranges::any_of(reservation.spec.owners, [](const api::ReservationOwner& owner) {
    return owner.object && !owner.controller && !owner.label_selector;
  });
}

}  // namespace koord::descheduler::migration
