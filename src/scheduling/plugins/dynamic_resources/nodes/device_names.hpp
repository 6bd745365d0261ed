// By which names a slice's device is known to whoever else gives it out.
#pragma once

#include <string>
#include <vector>

#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "koord/api/types/resource_v1/resource_slice.hpp"
#include "scheduling/common_devices/common_devices.hpp"

namespace koord::scheduling::dynamic_resources {

/// Attributes of devices; one without a domain is the driver's own.
struct NamingAttributes {
  std::vector<std::string> ids, buses;    // as texts
  std::vector<std::string> memory_nodes;  // as numbers
  friend bool operator==(const NamingAttributes&, const NamingAttributes&) = default;
};

/// The device's names: what these attributes say, as texts. Others count as absent.
CommonDevices::Offered names_of(const api::SliceDevice& device, CommonDevices::Number number, Symbol driver,
                                const NamingAttributes& attributes);

/// The node for which the claim's devices were given: the one that its node selector names by
/// metadata.name, as schedulers write it; empty: none.
std::string node_of(const api::AllocationResult& allocation);

}  // namespace koord::scheduling::dynamic_resources
