// A claim's status: what schedulers, drivers and the claims' controller write into it.
#pragma once

#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

/// Of an update: what drivers said of devices that are no longer allocated goes with them.
void drop_statuses_of_gone_devices(json::Value& claim, const json::Value& old);

void check_claim_status(const api::ResourceClaim& claim, const api::ResourceClaim& old,
                        const Registry& registry, StatusCauses& errors);

}  // namespace koord::sandbox
