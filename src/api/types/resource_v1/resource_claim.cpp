// The schema tables of koord/api/types/resource_v1/resource_claim.hpp: ResourceClaim.
#include "koord/api/types/resource_v1/resource_claim.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(CapacityRequirements, ROW(requests));
KOORD_SCHEMA(ExactDeviceRequest, ROW(device_class_name).required(), ROW(selectors), ROW(allocation_mode),
             ROW(count), ROW(admin_access), ROW(tolerations), ROW(capacity));
KOORD_SCHEMA(DeviceSubRequest, ROW(name).required(), ROW(device_class_name).required(), ROW(selectors),
             ROW(allocation_mode), ROW(count), ROW(tolerations), ROW(capacity));
KOORD_SCHEMA(DeviceRequest, ROW(name).required(), ROW(exactly), ROW(first_available));
KOORD_SCHEMA(DeviceConstraint, ROW(requests), ROW(match_attribute), ROW(distinct_attribute));
KOORD_SCHEMA(DeviceClaimConfiguration, ROW(requests), ROW(configuration).inlined());
KOORD_SCHEMA(DeviceClaim, ROW(requests), ROW(constraints), ROW(config));
KOORD_SCHEMA(ResourceClaimSpec, ROW(devices).always());
KOORD_SCHEMA(DeviceRequestAllocationResult, ROW(request).required(), ROW(driver).required(),
             ROW(pool).required(), ROW(device).required(), ROW(admin_access), ROW(tolerations),
             ROW(binding_conditions), ROW(binding_failure_conditions), ROW(share_id).wire("shareID"),
             ROW(consumed_capacity));
KOORD_SCHEMA(DeviceAllocationConfiguration, ROW(source).required(), ROW(requests),
             ROW(configuration).inlined());
KOORD_SCHEMA(DeviceAllocationResult, ROW(results), ROW(config));
KOORD_SCHEMA(AllocationResult, ROW(devices).always(), ROW(node_selector), ROW(allocation_timestamp));
KOORD_SCHEMA(ResourceClaimConsumerReference, ROW(api_group).wire("apiGroup"), ROW(resource).required(),
             ROW(name).required(), ROW(uid).required());
KOORD_SCHEMA(NetworkDeviceData, ROW(interface_name), ROW(ips), ROW(hardware_address));
KOORD_SCHEMA(AllocatedDeviceStatus, ROW(driver).required(), ROW(pool).required(), ROW(device).required(),
             ROW(share_id).wire("shareID"), ROW(conditions), ROW(data).untyped(), ROW(network_data));
KOORD_SCHEMA(ResourceClaimStatus, ROW(allocation), ROW(reserved_for).merge_key("uid"), ROW(devices));
KOORD_OBJECT(ResourceClaim, Kind("resource.k8s.io/v1", "ResourceClaim", "resourceclaims"), ROW(metadata),
             ROW(spec).required(), ROW(status));

}  // namespace koord::api
