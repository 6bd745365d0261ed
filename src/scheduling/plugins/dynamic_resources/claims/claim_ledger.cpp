// ClaimLedger: see claim_ledger.hpp.
#include "scheduling/plugins/dynamic_resources/claims/claim_ledger.hpp"

#include <fmt/format.h>

namespace koord::scheduling::dynamic_resources {

ClaimLedger::~ClaimLedger() {
  for (const auto& [claim, holdings] : by_claim_)
    for (const Holding& each : holdings) numbers_.release(each.device);
}

void ClaimLedger::put(const api::ResourceClaim& claim) {
  Holdings now;
  if (claim.status.allocation)
    for (const api::DeviceRequestAllocationResult& result : claim.status.allocation->devices.results) {
      if (result.admin_access.value_or(false)) continue;
      Holding& each = now.emplace_back();
      each.device = numbers_.hold({result.driver, result.pool, result.device});
      each.shared = shares_ && result.share_id.has_value();
      if (!each.shared) {
        taken_.take(each.device);
        continue;
      }
      each.capacity = result.consumed_capacity;
      taken_.consume(each.device, each.capacity);
    }
  if (claim.status.allocation) tell(now, &*claim.status.allocation);
  // What it had goes after what it has came: numbers that stay in use stay the same.
  const std::string key = fmt::format("{}/{}", claim.metadata.namespace_.view(), claim.metadata.name);
  const auto known = by_claim_.find(key);
  if (known != by_claim_.end()) {
    give_back(known->second);
    if (now.empty())
      by_claim_.erase(known);
    else
      known->second = std::move(now);
  } else if (!now.empty()) {
    by_claim_.emplace(key, std::move(now));
  }
}

void ClaimLedger::remove(std::string_view ns, std::string_view name) {
  const auto known = by_claim_.find(fmt::format("{}/{}", ns, name));
  if (known == by_claim_.end()) return;
  give_back(known->second);
  by_claim_.erase(known);
}

void ClaimLedger::tell(const Holdings& holdings, const api::AllocationResult* given) const {
  if (!changed_) return;
  for (const Holding& each : holdings) changed_(each.device, given);
}

void ClaimLedger::give_back(const Holdings& holdings) {
  tell(holdings, nullptr);
  for (const Holding& each : holdings) {
    if (each.shared)
      taken_.give_back(each.device, each.capacity);
    else
      taken_.give_back(each.device);
    numbers_.release(each.device);
  }
}

}  // namespace koord::scheduling::dynamic_resources
