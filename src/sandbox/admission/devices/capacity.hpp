// How much of a device's capacity one request may take: the policy of devices that several claims share.
#pragma once

#include "koord/api/types/resource_v1/resource_slice.hpp"
#include "sandbox/base/field_path.hpp"
#include "sandbox/base/status.hpp"

namespace koord::sandbox {

/// `shared`: the device may be allocated several times; else it has no policy.
void check_capacity(const api::DeviceCapacity& capacity, bool shared, const FieldPath& path,
                    StatusCauses& errors);

}  // namespace koord::sandbox
