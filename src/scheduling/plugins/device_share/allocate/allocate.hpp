// allocate: which of a machine's devices a pod gets.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "scheduling/plugins/device_share/allocate/bound_demand.hpp"
#include "scheduling/plugins/device_share/allocate/device_scorer.hpp"
#include "scheduling/plugins/device_share/allocate/refusal.hpp"
#include "scheduling/plugins/device_share/devices/node_devices.hpp"
#include "scheduling/plugins/device_share/request/given.hpp"

namespace koord::scheduling::device_share {

/// What the pod sees otherwise than the ledger has it. Nothing: the machine as it is. What it refers to
/// outlives the call.
struct Seen {
  /// Not there for this pod: of pods that would go, of reservations that are open to it. A device may occur
  /// several times. Virtual functions stay taken, as Koordinator has it.
  std::span<const Given::Device> given_back = {};
  /// Of types that occur here it gets these devices alone, and no more of them than this.
  std::span<const Given::Device> within = {};
  /// Of types that occur here it gets these devices alone, as much as is free of them.
  std::span<const Given::Device> among = {};
  /// On these memory nodes; 0: anywhere. Devices that do not say where they are are on none, those that say
  /// that this is unknown on all.
  NumaMask numa_nodes = 0;
  /// Of types that occur here (given_back's devices of a reservation, say) these first; `only`: and no
  /// others. Where a partition or the machine's topology decides, neither counts, as Koordinator has it.
  std::span<const Given::Device> preferred = {};
  bool only_preferred = false;
  /// Of devices that occur here with virtual functions it gets one of these.
  const Given* designated = nullptr;
  /// Reserve: also what can wait until then (DeviceDemand::secondary_can_wait).
  bool reserving = false;
};

/// What was chosen, by places. Of a type that was not wanted nothing.
struct Choice {
  static constexpr std::int32_t kNoFunction = -1;
  struct Pick {
    std::uint8_t place;
    std::int32_t function;  // of DeviceShape::Device::functions
  };
  struct OfType {
    std::array<Pick, kMostPlaces> picks;  // in the order in which they were chosen
    std::uint8_t count = 0;
    Places mask = 0;
  };
  std::array<OfType, kDeviceTypes> types;
  bool by_template = false;

  const OfType& of(DeviceType type) const { return types[index(type)]; }
  std::span<const Pick> picks(DeviceType type) const { return {of(type).picks.data(), of(type).count}; }
};

/// Koordinator's choice: GPUs by template, by partition, by the machine's topology, by score; jointly where
/// the pod says so. `scorer` null: devices score 0. Follows from what it is given alone, and allocates no
/// memory. `demand` is bound to the node's shape.
Refusal allocate(const NodeDevices& node, const BoundDemand& demand, const Seen& seen,
                 const DeviceScorer* scorer, Choice& choice);

/// Whether allocate() finds something, and why not. The scorer is the one with which it is asked: of who
/// shares a GPU jointly with others the choice decides whether they find a place beside it.
Refusal fits(const NodeDevices& node, const BoundDemand& demand, const Seen& seen,
             const DeviceScorer* scorer);

/// Whether the memory nodes of `seen` have too few devices, whatever is free: what a topology hint is refused
/// with before its devices are looked for. Of a type of which they have none nothing is said, as Koordinator
/// has it.
Refusal lacks_on_numa_nodes(const NodeDevices& node, const BoundDemand& demand, const Seen& seen);

/// The sum over the wanted types of how full they would be: 0 to 300, to be normalized.
std::int64_t score_node(const NodeDevices& node, const BoundDemand& demand, const Seen& seen,
                        const DeviceScorer& scorer);

/// What the pod is given by a choice from this machine, with each GPU's memory from its ratio or the ratio
/// from the memory, rounded down.
Given make_given(const NodeDevices& node, const BoundDemand& demand, const Choice& choice);
/// The same memory and ratio for what is designated, before it is looked for with it as `Seen::within`. An
/// error names the GPU that is not healthy.
Result<Given> fill_memory(const NodeDevices& node, Given given);

}  // namespace koord::scheduling::device_share
