// The schema tables of koord/api/types/resource_v1/device_class.hpp: DeviceClass.
#include "koord/api/types/resource_v1/device_class.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(DeviceClassConfiguration, ROW(configuration).inlined());
KOORD_SCHEMA(DeviceClassSpec, ROW(selectors), ROW(config), ROW(extended_resource_name));
KOORD_OBJECT(DeviceClass, Kind("resource.k8s.io/v1", "DeviceClass", "deviceclasses").cluster_scoped(),
             ROW(metadata), ROW(spec).required());

}  // namespace koord::api
