// The schema tables of koord/api/types/core_v1/replication_controller.hpp: ReplicationController.
#include "koord/api/types/core_v1/replication_controller.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(ReplicationControllerSpec, ROW(replicas), ROW(selector));
KOORD_OBJECT(ReplicationController, Kind("v1", "ReplicationController", "replicationcontrollers"),
             ROW(metadata), ROW(spec));

}  // namespace koord::api
