// The schema tables of koord/api/types/storage_v1/csi_driver.hpp: CSIDriver.
#include "koord/api/types/storage_v1/csi_driver.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(CsiDriverSpec, ROW(attach_required), ROW(storage_capacity), ROW(volume_lifecycle_modes));
KOORD_OBJECT(CsiDriver, Kind("storage.k8s.io/v1", "CSIDriver", "csidrivers").cluster_scoped(), ROW(metadata),
             ROW(spec));

}  // namespace koord::api
