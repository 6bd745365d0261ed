// Binding conditions: whether the devices of a claim may be used yet (gate DRADeviceBindingConditions).
#pragma once

#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord::scheduling::dynamic_resources {

/// Whether some device of the claim has conditions that must be met before its pod is bound.
bool has_binding_conditions(const api::ResourceClaim& claim);
/// Whether all of them are; false, too, for a claim that has nothing. The error (Code::invalid): a device
/// failed, in kube-scheduler's words.
Result<bool> is_ready(const api::ResourceClaim& claim);
/// Whether that has taken longer than `timeout` since the claim was allocated; never where it says not when.
bool is_overdue(const api::ResourceClaim& claim, nanoseconds timeout, WallTime now);

}  // namespace koord::scheduling::dynamic_resources
