// The devices that a node can reach, for the scheduler's oracle.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "koord/api/types/resource_v1/resource_slice.hpp"
#include "support/reference/evaluate.hpp"

namespace koord::reference {

struct PoolDevice {
  const api::ResourceSlice* slice;
  const api::SliceDevice* device;
  std::string id;       // "DRIVER/POOL/DEVICE"
  bool on_node = true;  // no: its slice reaches the node, and the device is for others
};

/// What lies in a pool, of the newest generation that reaches the node.
struct DevicePool {
  bool incomplete = false, invalid = false;
  std::vector<PoolDevice> devices;    // in the order in which they are tried
  std::vector<PoolDevice> elsewhere;  // they take of the same counters
  std::map<std::string, std::map<std::string, api::Quantity>> counters;  // by set and name
};

/// By driver and name of the pool; what they refer to is the cluster's.
std::vector<DevicePool> pools_of(const Cluster& cluster, const ClaimGates& gates, const api::Node& node);

}  // namespace koord::reference
