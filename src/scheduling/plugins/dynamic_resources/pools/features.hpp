// Features: which of Kubernetes' gates of resource claims are on.
#pragma once

namespace koord::scheduling::dynamic_resources {

/// Each named as the gate; the values are 1.35's defaults.
struct Features {
  bool admin_access = true;            // DRAAdminAccess
  bool prioritized_list = true;        // DRAPrioritizedList
  bool partitionable_devices = false;  // DRAPartitionableDevices
  bool consumable_capacity = false;    // DRAConsumableCapacity
  bool device_taints = false;          // DRADeviceTaints
  bool binding_conditions = false;     // DRADeviceBindingConditions with DRAResourceClaimDeviceStatus
};

}  // namespace koord::scheduling::dynamic_resources
