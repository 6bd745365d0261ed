// ReservePods: reservations, queued, placed and counted as pods are.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/scheduling/plugin/placed_objects.hpp"

namespace koord::scheduling::reservation {

/// The pod that stands for a reservation is its template's, with its own labels and annotations on top. It
/// asks for what is kept, and no preemption touches it where it says no priority.
class ReservePods final : public PlacedObjects<api::Reservation> {
 public:
  static constexpr std::string_view kWord = "reservation";
  /// Of one that says none.
  static constexpr std::int32_t kNoPriority = std::numeric_limits<std::int32_t>::max();

  std::string_view word() const override { return kWord; }
  std::optional<api::Pod> placeholder(const api::Reservation& reservation) const override;
  std::optional<ObjectPatch> failure(const api::Reservation& now,
                                     const AttemptFailure& failure) const override;
  /// It fails: it stays to be read, and its pods stay where they are. Where it was nominated itself is not
  /// written.
  Eviction eviction(const api::Reservation& now, const Preemptor& by) const override;
};

/// Makes it Available on the node.
std::shared_ptr<BindWork> bind(std::shared_ptr<const ReservePods> kind);

/// A pod that stands for a reservation.
bool is_reserve_pod(const api::Pod& pod);

}  // namespace koord::scheduling::reservation
