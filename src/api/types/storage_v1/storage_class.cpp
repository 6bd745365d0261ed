// The schema tables of koord/api/types/storage_v1/storage_class.hpp: StorageClass.
#include "koord/api/types/storage_v1/storage_class.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(TopologySelectorLabelRequirement, ROW(key).required(), ROW(values).required());
KOORD_SCHEMA(TopologySelectorTerm, ROW(match_label_expressions));
KOORD_OBJECT(StorageClass, Kind("storage.k8s.io/v1", "StorageClass", "storageclasses").cluster_scoped(),
             ROW(metadata), ROW(provisioner).required(), ROW(parameters), ROW(reclaim_policy),
             ROW(allow_volume_expansion), ROW(volume_binding_mode), ROW(allowed_topologies));

}  // namespace koord::api
