// DeviceLedger: who was given which devices of one machine.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduling/plugins/device_share/devices/node_devices.hpp"
#include "scheduling/plugins/device_share/request/given.hpp"

namespace koord::scheduling {
struct PodInfo;
}

namespace koord::scheduling::device_share {

/// While somebody has devices of a type and nobody can tell which (Given::unclear), none of that type counts
/// as healthy: any of them might be given twice; nor do GPUs that others give out (withhold()). What a pod
/// has of devices that a reservation was given, both hold, and it is counted once. The sums follow from who
/// holds what, in whatever order they came: with another shape they are made anew, and who holds devices that
/// are no more holds them again when they come back. Belongs to the engine's thread.
class DeviceLedger {
 public:
  struct Holder {
    const PodInfo* pod;
    std::shared_ptr<const Given> given;
    std::string in = {};  // the uid of the reservation of which the pod has room
  };

  /// The machine's devices from now on. A Device that was deleted keeps its shape, and nothing is healthy.
  void bind(std::shared_ptr<const DeviceShape> shape, const std::array<Places, kDeviceTypes>& healthy);
  /// GPUs that resource claims have: nothing of them is given from now on. Needs a shape.
  void withhold(Places gpus);
  Places withheld() const { return withheld_; }
  /// Nobody is added twice. Needs a shape.
  void add(Holder holder);
  /// Of one that was added, or of somebody in `pod`'s place: what he holds.
  void remove(const PodInfo& pod);

  const NodeDevices& devices() const { return devices_; }
  std::span<const Holder> holders() const { return holders_; }
  bool empty() const { return holders_.empty(); }
  /// nullptr: the pod holds nothing.
  const Given* of(const PodInfo& pod) const;
  /// Of this uid; nullptr: it holds nothing.
  const Holder* find(std::string_view uid) const;
  /// What its pods have left of what the reservation was given: an entry for each of its devices, also where
  /// that is 0. Its functions are all named, those that pods have, too.
  std::vector<Given::Device> kept(const Holder& reservation) const;
  /// What its pods have of its devices, no more than these are.
  std::vector<Given::Device> lodged(const Holder& reservation) const;

 private:
  void recount();
  void count(const Given::Device& device);

  NodeDevices devices_;
  std::array<Places, kDeviceTypes> healthy_{};  // as was told; of types that are unclear nothing is given
  Places withheld_ = 0;
  std::vector<Holder> holders_;
  std::size_t lodgers_ = 0;                             // who has room of a reservation
  std::set<std::pair<DeviceType, std::int32_t>> gone_;  // of a hostile annotation there are many
};

}  // namespace koord::scheduling::device_share
