// The schema tables of koord/api/types/storage_v1/csi_node.hpp: CSINode.
#include "koord/api/types/storage_v1/csi_node.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(VolumeNodeResources, ROW(count));
KOORD_SCHEMA(CsiNodeDriver, ROW(name).required(), ROW(node_id).wire("nodeID").required(), ROW(topology_keys),
             ROW(allocatable));
KOORD_SCHEMA(CsiNodeSpec, ROW(drivers).merge_key("name").required());
KOORD_OBJECT(CsiNode, Kind("storage.k8s.io/v1", "CSINode", "csinodes").cluster_scoped(), ROW(metadata),
             ROW(spec));

}  // namespace koord::api
