// The schema tables of koord/api/types/apps_v1/stateful_set.hpp: StatefulSet.
#include "koord/api/types/apps_v1/stateful_set.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(StatefulSetSpec, ROW(replicas), ROW(selector).required());
KOORD_OBJECT(StatefulSet, Kind("apps/v1", "StatefulSet", "statefulsets"), ROW(metadata), ROW(spec));

}  // namespace koord::api
