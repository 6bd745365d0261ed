// Reserved room: what the plugin that keeps room on nodes for pods to come, and those that give out parts of
// a node (CPUs, memory nodes, devices), tell one another. Both know reservations by their uids, which are
// those of the pods that stand for them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/scheduling/cluster/node_view.hpp"
#include "koord/scheduling/plugin/plugin_base.hpp"

namespace koord::scheduling {

class NumaHints;

/// In the slots of a view: reservations of which the pod may have room. The pods that stand for them are not
/// in the view, those that have room of them already are.
struct OpenRooms {
  struct Room {
    std::string reservation;
    bool restricted;  // what it keeps parts of, the pod has of it alone
  };
  std::vector<Room> rooms = {};  // in the order in which they are tried
  bool required = false;         // the pod wants one of them, and nothing beside
  bool all = false;              // it ignores what is reserved: it has of all of them, and beside them
};

/// In PodInfo::kept from the choice of the pod's node until it is bound: then its object says it.
struct RoomChoice {
  std::string reservation;                // empty: none
  std::shared_ptr<const OpenRooms> open;  // on its node
};

/// In PodInfo::kept of what keeps room, from the choice of its node until it is bound: the uids of the
/// running pods whose room it takes over (pre-allocation). Until they say that they have room of it, both
/// count.
struct RoomTakenOver {
  std::vector<std::string> pods;
};

/// The uid of the reservation of which the pod has room: as its object says, or before it is bound as was
/// chosen for it (RoomChoice). Empty: of none.
std::string lodges_in(const PodInfo& pod);

/// Judges reservations by the parts that the plugin gives out (Koordinator's FilterNominateReservation and
/// ScoreReservation).
class RoomJudge {
 public:
  virtual ~RoomJudge() = default;
  /// Once for a class. nullptr: it has no say about such a pod.
  virtual std::unique_ptr<PodState> prepare_rooms(const PodInfo& pod) = 0;
  /// The view has OpenRooms, this reservation among them; the empty one: beside all. Also true where the
  /// plugin's own filter rejects the view, which then says why.
  virtual bool serves(PodState& state, const NodeView& view, std::string_view reservation) const = 0;
  /// What one that serves is worth to the pod, from 0 on; of several the best has 100, the others in
  /// proportion. 0 for all: nothing to choose by.
  virtual std::int64_t worth(PodState& /*state*/, const NodeView& /*view*/,
                             std::string_view /*reservation*/) const {
    return 0;
  }
};

/// Of all profiles (SharedParts); a profile is known by its NumaHints.
class RoomJudges {
 public:
  void add(const NumaHints* profile, RoomJudge& judge) { judges_.emplace_back(profile, &judge); }
  std::vector<RoomJudge*> of(const NumaHints* profile) const {
    std::vector<RoomJudge*> found;
    for (const auto& [of, judge] : judges_)
      if (of == profile) found.push_back(judge);
    return found;
  }

 private:
  std::vector<std::pair<const NumaHints*, RoomJudge*>> judges_;
};

}  // namespace koord::scheduling
