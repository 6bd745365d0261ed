// The schema tables of koord/api/types/resource_v1/device_selection.hpp.
#include "koord/api/types/resource_v1/device_selection.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(CelDeviceSelector, ROW(expression).required());
KOORD_SCHEMA(DeviceSelector, ROW(cel));
KOORD_SCHEMA(OpaqueDeviceConfiguration, ROW(driver).required(), ROW(parameters).required().untyped());
KOORD_SCHEMA(DeviceConfiguration, ROW(opaque));
KOORD_SCHEMA(DeviceToleration, ROW(key), ROW(operator_), ROW(value), ROW(effect), ROW(toleration_seconds));

}  // namespace koord::api
