// resource.k8s.io/v1: ResourceClaim, the devices that pods ask for by name and get together.
#pragma once

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/resource_v1/device_selection.hpp"

namespace koord::api {

/// Amounts of a device's capacity by name: "memory" is the driver's, "dra.example.com/memory" names whose.
struct CapacityRequirements {
  ResourceList requests;
  KOORD_STRUCT(CapacityRequirements);
};

struct ExactDeviceRequest {
  Symbol device_class_name;
  List<DeviceSelector> selectors;    // all must hold, beside the class'
  Symbol allocation_mode;            // ExactCount, All
  int64_t count = 0;                 // of ExactCount
  std::optional<bool> admin_access;  // true: devices are looked at, not taken
  List<DeviceToleration> tolerations;
  Box<CapacityRequirements> capacity;
  KOORD_STRUCT(ExactDeviceRequest);
};

/// One of several ways to satisfy a request.
struct DeviceSubRequest {
  Symbol name;
  Symbol device_class_name;
  List<DeviceSelector> selectors;
  Symbol allocation_mode;
  int64_t count = 0;
  List<DeviceToleration> tolerations;
  Box<CapacityRequirements> capacity;
  KOORD_STRUCT(DeviceSubRequest);
};

struct DeviceRequest {
  Symbol name;
  Box<ExactDeviceRequest> exactly;
  List<DeviceSubRequest> first_available;  // at most 8, the best first; results call one "NAME/SUBNAME"
  KOORD_STRUCT(DeviceRequest);
};

/// Of all devices of the requests that it names; empty: of all of the claim.
struct DeviceConstraint {
  List<Symbol> requests;
  std::optional<Symbol> match_attribute;     // "DOMAIN/ID": one value for all
  std::optional<Symbol> distinct_attribute;  // another value for each
  KOORD_STRUCT(DeviceConstraint);
};

struct DeviceClaimConfiguration {
  List<Symbol> requests;  // empty: all
  DeviceConfiguration configuration;
  KOORD_STRUCT(DeviceClaimConfiguration);
};

struct DeviceClaim {
  List<DeviceRequest> requests;  // at most 32
  List<DeviceConstraint> constraints;
  List<DeviceClaimConfiguration> config;
  KOORD_STRUCT(DeviceClaim);
};

struct ResourceClaimSpec {
  DeviceClaim devices;
  KOORD_STRUCT(ResourceClaimSpec);
};

struct DeviceRequestAllocationResult {
  Symbol request;  // "NAME" or "NAME/SUBNAME"
  Symbol driver;
  Symbol pool;
  Symbol device;
  std::optional<bool> admin_access;
  List<DeviceToleration> tolerations;
  List<Symbol> binding_conditions;
  List<Symbol> binding_failure_conditions;
  std::optional<std::string> share_id;  // a UUID, of a device that several may have
  ResourceList consumed_capacity;
  KOORD_STRUCT(DeviceRequestAllocationResult);
};

struct DeviceAllocationConfiguration {
  Symbol source;  // FromClass, FromClaim
  List<Symbol> requests;
  DeviceConfiguration configuration;
  KOORD_STRUCT(DeviceAllocationConfiguration);
};

struct DeviceAllocationResult {
  List<DeviceRequestAllocationResult> results;  // at most 32
  List<DeviceAllocationConfiguration> config;
  KOORD_STRUCT(DeviceAllocationResult);
};

struct AllocationResult {
  DeviceAllocationResult devices;
  Box<NodeSelector> node_selector;  // absent: usable on every node
  std::optional<Time> allocation_timestamp;
  KOORD_STRUCT(AllocationResult);
};

struct ResourceClaimConsumerReference {
  Symbol api_group;
  Symbol resource;
  std::string name;
  std::string uid;
  KOORD_STRUCT(ResourceClaimConsumerReference);
};

struct NetworkDeviceData {
  std::string interface_name;
  List<std::string> ips;
  std::string hardware_address;
  KOORD_STRUCT(NetworkDeviceData);
};

/// What a driver says of a device that it gave.
struct AllocatedDeviceStatus {
  Symbol driver;
  Symbol pool;
  Symbol device;
  std::optional<std::string> share_id;
  List<Condition> conditions;
  RawJson data;
  Box<NetworkDeviceData> network_data;
  KOORD_STRUCT(AllocatedDeviceStatus);
};

struct ResourceClaimStatus {
  Box<AllocationResult> allocation;
  List<ResourceClaimConsumerReference> reserved_for;  // at most 256
  List<AllocatedDeviceStatus> devices;
  KOORD_STRUCT(ResourceClaimStatus);
};

struct ResourceClaim {
  ObjectMeta metadata;
  ResourceClaimSpec spec;
  ResourceClaimStatus status;
  KOORD_STRUCT(ResourceClaim);
};

}  // namespace koord::api
