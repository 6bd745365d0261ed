// How much of a device's capacity a request consumes, and whether there is as much.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/api/types/resource_v1/resource_slice.hpp"

namespace koord::scheduling::dynamic_resources {

/// What a request consumes of each capacity of a device: what it asks for, rounded up as the capacity's
/// policy says; what it does not ask for, the policy's default, without one all of it.
api::ResourceList consumed_capacity(const api::ResourceList* asked, const api::SliceDevice& device);

/// Whether a request that consumes so much can have of the device: it asks for capacities that the device
/// has, in amounts that the policies allow, and together with what others have (nullptr: nothing) there is
/// enough.
bool capacity_suffices(const api::ResourceList* asked, const api::ResourceList& consumes,
                       const api::SliceDevice& device, const api::ResourceList* others);

}  // namespace koord::scheduling::dynamic_resources
