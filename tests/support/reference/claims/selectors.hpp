// Selectors of devices, for the scheduler's oracle.
#pragma once

#include <optional>
#include <string>

#include "koord/api/types/resource_v1/resource_slice.hpp"

namespace koord::reference {

/// Whether the expression is true of a device of the driver; absent: it is none, or has no value.
std::optional<bool> selects(const std::string& expression, const Symbol& driver,
                            const api::SliceDevice& device);

}  // namespace koord::reference
