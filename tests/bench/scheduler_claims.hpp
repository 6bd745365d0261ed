// Claims for devices in the scheduler's bench: eight devices a node, a claim from a template a pod, and an
// API server that takes what is written.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "koord/api/types/resource_v1/device_class.hpp"
#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "koord/api/types/resource_v1/resource_slice.hpp"
#include "koord/scheduling/engine/decision.hpp"
#include "scheduler_workloads.hpp"

namespace koord::scheduling::bench {

inline constexpr int kDevicesANode = 8;

std::shared_ptr<const api::DeviceClass> make_device_class();
/// The node's devices.
std::shared_ptr<const api::ResourceSlice> make_slice(int node);
/// The pod has a claim of its own, from a template.
void claims_device(api::Pod& pod, const Which& which);
std::shared_ptr<const api::ResourceClaim> make_claim(const api::Pod& pod);
/// What the watch tells of these pods' claims: runs the work before the bindings.
std::vector<std::shared_ptr<const api::ResourceClaim>> written_claims(std::span<const Decision> decisions,
                                                                      Clock& clock);

}  // namespace koord::scheduling::bench
