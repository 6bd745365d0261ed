// Upkeep: what becomes of reservations that have been placed, by those who use them, by time, and by their
// node.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/base/clock.hpp"

namespace koord::scheduling::reservation {

/// A reservation as pods name it. One that was made anew under its name is another.
struct ReservationKey {
  std::string name, uid;
  friend bool operator==(const ReservationKey&, const ReservationKey&) = default;
};
struct ReservationKeyHash {
  std::size_t operator()(const ReservationKey& key) const noexcept {
    return std::hash<std::string>()(key.name) ^ std::hash<std::string>()(key.uid);
  }
};

/// A pod on a node that says whose room it has.
struct Holder {
  ReservationKey of;
  Symbol node;
  api::ObjectReference pod;  // namespace, name and uid, as owners are told
  api::ResourceList requests;
};

/// Who has whose room, by the annotations of pods on nodes. Nobody asks whether they may: that was the
/// scheduler's decision.
class Holders {
 public:
  /// A pod as it is now. Those whose room it had, or has, are worth a look.
  std::vector<ReservationKey> put(const api::Pod& pod);
  std::vector<ReservationKey> remove(const api::Pod& pod);
  /// By the pods' uids. Valid until the next change.
  std::vector<const Holder*> of(const std::string& reservation_uid) const;

 private:
  std::unordered_map<std::string, Holder> pods_;  // by uid
  /// Uids of pods by that of the reservation. Sorted, as owners are told.
  std::unordered_map<std::string, std::map<std::string, const Holder*>> users_;
};

/// What a reservation becomes: Failed when its time is up or its node gone, Succeeded when one that is used
/// once was used; else with its owners and what they have of it. Absent: it is so already, it has not been
/// placed, or it is over. The owners are those on its node, of what it keeps.
std::optional<api::Reservation> settled(const api::Reservation& reservation, const Holders& holders,
                                        bool has_node, WallTime now);

/// One that is over and may be deleted: for so long, or since its node is gone.
bool may_be_collected(const api::Reservation& reservation, bool has_node, nanoseconds after, WallTime now);

}  // namespace koord::scheduling::reservation
