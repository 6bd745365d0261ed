// The schema tables of koord/api/types/core_v1/namespace.hpp: Namespace.
#include "koord/api/types/core_v1/namespace.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(NamespaceStatus, ROW(phase));
KOORD_SCHEMA(NamespaceSpec, ROW(finalizers));
KOORD_OBJECT(Namespace, Kind("v1", "Namespace", "namespaces").cluster_scoped(), ROW(metadata), ROW(spec),
             ROW(status));

}  // namespace koord::api
