// The schema tables of koord/api/types/scheduling_v1/priority_class.hpp: PriorityClass.
#include "koord/api/types/scheduling_v1/priority_class.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_OBJECT(PriorityClass, Kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses").cluster_scoped(),
             ROW(metadata), ROW(value).required(), ROW(global_default), ROW(description),
             ROW(preemption_policy));

}  // namespace koord::api
