// The schema tables of koord/api/types/apps_v1/replica_set.hpp: ReplicaSet.
#include "koord/api/types/apps_v1/replica_set.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(ReplicaSetSpec, ROW(replicas), ROW(min_ready_seconds), ROW(selector).required(), ROW(template_));
KOORD_SCHEMA(ReplicaSetStatus, ROW(replicas).required(), ROW(fully_labeled_replicas), ROW(ready_replicas),
             ROW(available_replicas), ROW(observed_generation));
KOORD_OBJECT(ReplicaSet, Kind("apps/v1", "ReplicaSet", "replicasets"), ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
