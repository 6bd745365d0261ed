// The schema tables of koord/api/types/resource_v1/resource_slice.hpp: ResourceSlice.
#include "koord/api/types/resource_v1/resource_slice.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(DeviceAttribute, ROW(int_), ROW(bool_), ROW(string), ROW(version));
KOORD_SCHEMA(CapacityRequestPolicyRange, ROW(min), ROW(max), ROW(step));
KOORD_SCHEMA(CapacityRequestPolicy, ROW(default_), ROW(valid_values), ROW(valid_range));
KOORD_SCHEMA(DeviceCapacity, ROW(value).required(), ROW(request_policy));
KOORD_SCHEMA(DeviceCounter, ROW(value).required());
KOORD_SCHEMA(CounterSet, ROW(name).required(), ROW(counters));
KOORD_SCHEMA(DeviceCounterConsumption, ROW(counter_set).required(), ROW(counters));
KOORD_SCHEMA(DeviceTaint, ROW(key).required(), ROW(value), ROW(effect).required(), ROW(time_added));
KOORD_SCHEMA(SliceDevice, ROW(name).required(), ROW(attributes), ROW(capacity), ROW(consumes_counters),
             ROW(node_name), ROW(node_selector), ROW(all_nodes), ROW(taints), ROW(binds_to_node),
             ROW(binding_conditions), ROW(binding_failure_conditions), ROW(allow_multiple_allocations));
KOORD_SCHEMA(ResourcePool, ROW(name).required(), ROW(generation).required(),
             ROW(resource_slice_count).required());
KOORD_SCHEMA(ResourceSliceSpec, ROW(driver).required(), ROW(pool).required(), ROW(node_name),
             ROW(node_selector), ROW(all_nodes), ROW(devices), ROW(per_device_node_selection),
             ROW(shared_counters));
KOORD_OBJECT(ResourceSlice, Kind("resource.k8s.io/v1", "ResourceSlice", "resourceslices").cluster_scoped(),
             ROW(metadata), ROW(spec).required());

}  // namespace koord::api
