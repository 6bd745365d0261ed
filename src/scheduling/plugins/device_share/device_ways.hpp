// DeviceWays: how a pod may come by devices of a machine: in a reservation, or beside all of them.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "koord/scheduling/cluster/node_view.hpp"
#include "scheduling/plugin/reserved_room.hpp"
#include "scheduling/plugins/device_share/allocate/allocate.hpp"
#include "scheduling/plugins/device_share/devices/device_ledger.hpp"

namespace koord::scheduling::device_share {

/// Who is not in the view has nothing, who is there beside has what he was given. Of the reservations that
/// are open to the pod, only those that were given devices are ways of their own: in each of them the pod
/// sees what that one keeps, and no other's. The ledger, the view and `open` outlive it.
class DeviceWays {
 public:
  struct Way {
    std::string_view reservation = {};  // its uid; empty: beside all
    std::vector<Given::Device> kept = {};
    std::span<const Given::Device> reserved = {};  // all that the reservation has
    bool restricted = false;                       // nothing beside what it keeps of a type

    /// On these memory nodes (0: anywhere); `designated`: nothing but this. Both outlive what is returned.
    Seen seen(NumaMask nodes = 0, const Given* designated = nullptr) const {
      Seen seen;
      seen.numa_nodes = nodes;
      seen.designated = designated;
      seen.given_back = kept;
      seen.preferred = reserved;
      seen.only_preferred = restricted;
      if (restricted) seen.within = kept;
      if (designated != nullptr) seen.within = designated->devices;
      return seen;
    }
  };

  DeviceWays(const DeviceLedger& ledger, const NodeView& view, const OpenRooms* open);
  DeviceWays(const DeviceWays&) = delete;
  DeviceWays& operator=(const DeviceWays&) = delete;

  const NodeDevices& devices() const { return ledger_->devices(); }
  /// In the order in which they are tried; there is one at least, unless the pod wants a reservation.
  std::span<const Way> ways() const { return ways_; }
  /// nullptr: that reservation was given nothing.
  const Way* of(std::string_view reservation) const;
  /// Beside all, also where the pod may not go that way.
  const Way& beside() const { return beside_; }
  /// What the pods have that are not in the view, those of open reservations apart.
  std::span<const Given::Device> removed() const { return removed_; }
  /// The pod wants a reservation, and those that are open to it have devices.
  bool required() const { return required_; }

 private:
  const DeviceLedger* ledger_;
  std::optional<DeviceLedger> made_;
  std::vector<Way> ways_;
  Way beside_;
  std::vector<Given::Device> removed_;
  bool required_ = false;
};

}  // namespace koord::scheduling::device_share
