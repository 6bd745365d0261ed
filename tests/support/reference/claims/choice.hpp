// Which devices a pod's claims get on a node, for the scheduler's oracle.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "koord/api/types/resource_v1/device_class.hpp"
#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "support/reference/claims/pools.hpp"

namespace koord::reference {

/// Tries devices one after the other, depth first, in the order of the pools: claims, their requests, and
/// their ways in theirs. Everything is counted anew for each.
class ClaimChoice {
 public:
  /// Claims that have nothing; all of their classes are there.
  ClaimChoice(const Cluster& cluster, const ClaimGates& gates, const api::Node& node,
              const std::vector<const api::ResourceClaim*>& claims);

  /// What ends the attempt; empty: nothing.
  const std::string& error() const { return error_; }
  /// Why they cannot be had; empty: they can.
  const std::string& refused() const { return refused_; }
  /// Of each claim, where they can be had; without configuration, and without names of shares.
  const std::vector<api::AllocationResult>& given() const { return given_; }

 private:
  struct Way {  // a request, or one of its subrequests
    std::string request, sub;
    std::size_t claim = 0;
    const api::DeviceClass* of = nullptr;
    api::List<api::DeviceSelector> selectors;
    api::List<api::DeviceToleration> tolerations;
    api::ResourceList capacity;
    bool admin = false, all = false;
    std::int64_t count = 0;
    std::vector<const PoolDevice*> wanted;      // of `all`
    std::map<const PoolDevice*, bool> matches;  // as far as it was asked

    std::string name() const { return sub.empty() ? request : request + "/" + sub; }
  };
  using Ways = std::vector<Way>;
  struct Chosen {
    const Way* way;
    const DevicePool* pool;
    const PoolDevice* what;
  };

  void read(std::size_t claim);
  template <class T>
  Way way_of(std::size_t claim, const T& asked);
  void want_all(Way& way);
  bool search(std::size_t claim, std::size_t request);
  bool fill(std::size_t claim, std::size_t request, Way& way, std::int64_t had);
  bool choose(const Way& way, const DevicePool& pool, const PoolDevice& what);

  bool matches(Way& way, const PoolDevice& what);
  bool selects_all(const api::List<api::DeviceSelector>& selectors, const PoolDevice& what);
  bool in_use(const Way& way, const PoolDevice& what) const;
  bool is_shared(const PoolDevice& what) const;
  bool is_counted(const PoolDevice& what) const;
  bool has_counters(const DevicePool& pool, const PoolDevice& what) const;
  bool has_capacity(const Way& way, const PoolDevice& what) const;
  bool tolerates(const Way& way, const PoolDevice& what) const;
  bool meets_constraints(const Way& way, const PoolDevice& what) const;
  api::AllocationResult result_of(std::size_t claim) const;

  const Cluster& cluster_;
  const ClaimGates gates_;
  const api::Node& node_;
  const std::vector<const api::ResourceClaim*> claims_;
  const std::vector<DevicePool> pools_;
  std::map<std::string, int> taken_;                 // as a whole, by id
  std::map<std::string, api::ResourceList> shares_;  // by id
  std::vector<std::vector<Ways>> asked_;             // by claim and request
  std::vector<Chosen> chosen_;
  std::string error_, refused_;
  std::vector<api::AllocationResult> given_;
};

/// What a request consumes of a device's capacities.
api::ResourceList consumed_of(const api::ResourceList& asked, const api::SliceDevice& device);

}  // namespace koord::reference
