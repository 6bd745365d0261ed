// Ways: how a pod may come by CPUs and memory nodes of a machine: in a reservation, or beside all of them.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/scheduling/cluster/node_view.hpp"
#include "scheduling/plugin/reserved_room.hpp"
#include "scheduling/plugins/node_numa_resource/room.hpp"

namespace koord::scheduling::node_numa_resource {

/// Who is not in the view has nothing, who is there beside has what he was given. Of the reservations that
/// the view opens to the pod, only those that were given something are ways of their own: in each of them the
/// pod sees what that one keeps, and no other's. The ledger and the view outlive it.
class Ways {
 public:
  struct Way {
    std::string_view reservation;  // its uid; empty: beside all
    const Ledger* ledger;
    Kept kept = {};  // by the reservation
  };

  /// Of open reservations only so many are looked at that this, times who holds something there, is not
  /// exceeded, in the order in which they are used: 128 beside 127 pods. A machine with more is somebody's
  /// mistake, and each is a ledger of its own.
  static constexpr std::size_t kMostLooks = std::size_t{1} << 14;
  /// The view opens the reservation to the pod, and it is one of the others.
  static bool leaves_out(const Ledger& ledger, const NodeView& view, std::string_view reservation);

  Ways(const NumaNode& node, const Ledger& ledger, const NodeView& view);
  Ways(const Ways&) = delete;
  Ways& operator=(const Ways&) = delete;

  /// Without all that is open to the pod.
  const Ledger& all() const { return *all_; }
  /// In the order in which they are tried; there is one at least.
  std::span<const Way> ways() const { return ways_; }
  /// nullptr: that reservation was given nothing.
  const Way* of(std::string_view reservation) const;
  /// Beside all, also where the pod may not go that way.
  const Way& beside() const { return *beside_; }
  /// The one way is in all reservations and beside them.
  bool all_at_once() const { return all_at_once_; }
  /// The pod wants a reservation.
  bool required() const { return required_; }

 private:
  const Ledger* all_;
  std::deque<Ledger> made_;
  std::vector<Way> ways_;
  std::optional<Way> beside_;
  bool required_ = false, all_at_once_ = false;
};

}  // namespace koord::scheduling::node_numa_resource
