// Binding conditions: see readiness.hpp.
#include "scheduling/plugins/dynamic_resources/claims/readiness.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/base/text.hpp"

namespace koord::scheduling::dynamic_resources {

namespace {

using Given = api::DeviceRequestAllocationResult;

const api::Condition* find_true(const api::AllocatedDeviceStatus& device, const Symbol& type) {
  const auto found = std::ranges::find(device.conditions, type, &api::Condition::type);
  return found != device.conditions.end() && found->status == "True" ? &*found : nullptr;
}

const api::AllocatedDeviceStatus* status_of(const api::ResourceClaim& claim, const Given& given) {
  const auto& all = claim.status.devices;
  const auto found = std::ranges::find_if(all, [&](const api::AllocatedDeviceStatus& each) {
    return each.device == given.device && each.driver == given.driver && each.pool == given.pool;
  });
  return found != all.end() ? &*found : nullptr;
}

}  // namespace

bool has_binding_conditions(const api::ResourceClaim& claim) {
  return claim.status.allocation &&
         std::ranges::any_of(claim.status.allocation->devices.results,
                             [](const Given& given) { return !given.binding_conditions.empty(); });
}

Result<bool> is_ready(const api::ResourceClaim& claim) {
  if (!claim.status.allocation) return false;
  for (const Given& given : claim.status.allocation->devices.results) {
    if (given.binding_conditions.empty()) continue;
    const api::AllocatedDeviceStatus* device = status_of(claim, given);
    if (device == nullptr) return false;
    for (const Symbol& type : given.binding_failure_conditions)
      if (const api::Condition* failed = find_true(*device, type))
        return Error(Code::invalid,
                     fmt::format("claim {} binding failed: reason={}, message={}", claim.metadata.name,
                                 failed->reason.view(), quote(failed->message)));
    for (const Symbol& type : given.binding_conditions)
      if (find_true(*device, type) == nullptr) return false;
  }
  return true;
}

bool is_overdue(const api::ResourceClaim& claim, nanoseconds timeout, WallTime now) {
  return has_binding_conditions(claim) && claim.status.allocation->allocation_timestamp &&
         claim.status.allocation->allocation_timestamp->wall() + timeout < now;
}

}  // namespace koord::scheduling::dynamic_resources
