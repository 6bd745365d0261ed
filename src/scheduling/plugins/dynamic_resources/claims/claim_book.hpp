// ClaimBook: the claims as they are, with what was decided of them and is not written yet.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/plugins/dynamic_resources/claims/claim_ledger.hpp"
#include "scheduling/plugins/dynamic_resources/nodes/common_gpus.hpp"
#include "scheduling/plugins/dynamic_resources/nodes/device_rows.hpp"

namespace koord::scheduling::dynamic_resources {

/// One for all profiles; belongs to the engine's thread. What a claim is to get counts as given from
/// reserve() on, until the API server tells that it has it, or it is given back. What it tells of the claim
/// meanwhile (a finalizer) does not take it away. If it tells that what was reserved is gone, pods that were
/// refused are told of it.
class ClaimBook {
 public:
  using Claim = std::shared_ptr<const api::ResourceClaim>;

  /// `names`: by which attributes a device may be one that DeviceShare gives out, too.
  ClaimBook(const PluginContext& context, DeviceRows& rows, NamingAttributes names);

  /// nullptr: there is none. What was written a moment ago is there already.
  Claim find(std::string_view ns, std::string_view name) const;
  /// Whether its allocation is decided and not written.
  bool pending(const api::ResourceClaim& claim) const;
  const Taken& taken() const { return ledger_.taken(); }
  ObjectStore<api::ResourceClaim>& store() { return store_; }
  const NamingAttributes& names() const { return common_.attributes(); }

  /// `allocated` is a changed copy of what find() gave.
  void reserve(Claim allocated);
  /// It is written, as the API server answered. Nothing happens if it was not reserved, or has been told of.
  void written(const Claim& claim);
  /// It was not written. False: it was not reserved any more.
  bool give_back(const api::ResourceClaim& claim);

  /// The pod is being taken out of its status.reservedFor: that it is there says nothing until it is not.
  void release(const api::ResourceClaim& claim, std::string_view pod_uid);
  bool is_released(const api::ResourceClaim& claim, std::string_view pod_uid) const;

 private:
  struct Reserved {
    Claim claim;
    bool written = false;
  };
  void changed(const api::ResourceClaim* before, const api::ResourceClaim* now);

  ObjectStore<api::ResourceClaim>& store_;
  ClaimLedger ledger_;
  CommonGpus common_;
  CycleControl& cycle_;
  const RejectorKey key_;
  std::unordered_map<std::string, Reserved> reserved_;                  // by "NAMESPACE/NAME"
  std::unordered_map<std::string, std::vector<std::string>> released_;  // the pods' uids by the claims'
};

}  // namespace koord::scheduling::dynamic_resources
