// View: a machine's devices as one pod sees them.
#pragma once

#include <array>

#include "scheduling/plugins/device_share/allocate/allocate.hpp"

namespace koord::scheduling::device_share {

/// Made for one look. Computes what it is asked for; nothing is copied.
class View {
 public:
  View(const NodeDevices& node, const BoundDemand& demand, const Seen& seen);

  const DeviceShape& shape() const { return *node_.shape; }
  const NodeDevices& node() const { return node_; }
  const BoundDemand& bound() const { return demand_; }
  const DeviceDemand& demand() const { return *demand_.demand; }
  const Seen& seen() const { return seen_; }

  /// Whether the pod is given devices of this type now.
  bool looks_for(DeviceType type) const;
  /// So many of them.
  int count(DeviceType type) const;
  /// Listed, on the right memory nodes, selected, and within what it may have.
  Places allowed(DeviceType type) const { return allowed_[index(type)]; }
  /// Of these the ones that have anything in all.
  Places healthy(DeviceType type) const { return allowed(type) & node_.healthy[index(type)]; }
  Amounts total(DeviceType type, std::size_t place) const { return node_.total_of(type, place); }
  Amounts free(DeviceType type, std::size_t place) const;
  /// Healthy, and free enough for the pod's part.
  Places fitting(DeviceType type) const;
  /// Somebody has some of them, as the pod sees it; all that are not allowed are as they are.
  Places used(DeviceType type) const;
  /// By what is preferred; 0: nothing is.
  Places preferred(DeviceType type) const { return places(type, seen_.preferred); }
  /// The free virtual function with the lowest bus id; Choice::kNoFunction: there is none.
  std::int32_t free_function(DeviceType type, std::size_t place) const;

 private:
  Places places(DeviceType type, std::span<const Given::Device> devices) const;

  const NodeDevices& node_;
  const BoundDemand& demand_;
  const Seen& seen_;
  std::array<Places, kDeviceTypes> allowed_{};
};

/// GPUs: by template, by partition, by the machine's topology; what is left to be chosen by score alone sets
/// `by_score`.
Refusal allocate_gpus(const View& view, const DeviceScorer* scorer, Choice& choice, bool& by_score);

}  // namespace koord::scheduling::device_share
