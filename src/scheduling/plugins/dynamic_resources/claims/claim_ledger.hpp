// ClaimLedger: which devices the claims of the cluster have.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "scheduling/plugins/dynamic_resources/allocate/taken.hpp"
#include "scheduling/plugins/dynamic_resources/pools/device_numbers.hpp"

namespace koord::scheduling::dynamic_resources {

/// By what their status says, whoever wrote it; who assumes an allocation puts the claim with it. Admin
/// access takes nothing. One thread.
class ClaimLedger {
 public:
  /// Told of each device that a claim was given, out of what; nullptr: it has given it back.
  using Changed = std::function<void(DeviceNumber device, const api::AllocationResult* given)>;

  /// `shares`: a result with a shareID is a part of its device (gate DRAConsumableCapacity), else all of it.
  /// `numbers` outlives it.
  ClaimLedger(DeviceNumbers& numbers, bool shares, Changed changed = {})
      : numbers_(numbers), shares_(shares), changed_(std::move(changed)) {}
  ClaimLedger(const ClaimLedger&) = delete;
  ClaimLedger& operator=(const ClaimLedger&) = delete;
  ~ClaimLedger();

  /// A claim that is new or has changed.
  void put(const api::ResourceClaim& claim);
  /// A claim that is gone.
  void remove(std::string_view ns, std::string_view name);
  /// Another gives the device out, who was told by him: until allow() no claim gets it.
  void withhold(DeviceNumber device) { taken_.take(device); }
  void allow(DeviceNumber device) { taken_.give_back(device); }
  /// By device: whether a claim has it, or a part of it, or it is withheld.
  const Taken& taken() const { return taken_; }

 private:
  struct Holding {
    DeviceNumber device;
    bool shared;
    api::ResourceList capacity;  // of a share
  };
  using Holdings = std::vector<Holding>;
  void give_back(const Holdings& holdings);
  void tell(const Holdings& holdings, const api::AllocationResult* given) const;

  DeviceNumbers& numbers_;
  bool shares_;
  Changed changed_;
  Taken taken_;
  std::unordered_map<std::string, Holdings> by_claim_;  // by "NAMESPACE/NAME"; none without devices
};

}  // namespace koord::scheduling::dynamic_resources
