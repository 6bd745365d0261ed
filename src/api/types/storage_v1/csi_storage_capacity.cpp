// The schema tables of koord/api/types/storage_v1/csi_storage_capacity.hpp: CSIStorageCapacity.
#include "koord/api/types/storage_v1/csi_storage_capacity.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_OBJECT(CsiStorageCapacity, Kind("storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities"),
             ROW(metadata), ROW(node_topology), ROW(storage_class_name).required(), ROW(capacity),
             ROW(maximum_volume_size));

}  // namespace koord::api
