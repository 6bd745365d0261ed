// The schema tables of koord/api/types/resource_v1alpha3/device_taint_rule.hpp: DeviceTaintRule.
#include "koord/api/types/resource_v1alpha3/device_taint_rule.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(DeviceTaintSelector, ROW(driver), ROW(pool), ROW(device));
KOORD_SCHEMA(DeviceTaintRuleSpec, ROW(device_selector), ROW(taint).required());
KOORD_OBJECT(DeviceTaintRule,
             Kind("resource.k8s.io/v1alpha3", "DeviceTaintRule", "devicetaintrules").cluster_scoped(),
             ROW(metadata), ROW(spec).required());

}  // namespace koord::api
