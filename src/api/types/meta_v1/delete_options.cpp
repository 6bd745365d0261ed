// The schema tables of koord/api/types/meta_v1/delete_options.hpp: DeleteOptions.
#include "koord/api/types/meta_v1/delete_options.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(Preconditions, ROW(uid), ROW(resource_version));
KOORD_OBJECT(DeleteOptions, Kind("v1", "DeleteOptions"), ROW(grace_period_seconds), ROW(preconditions),
             ROW(orphan_dependents), ROW(propagation_policy), ROW(dry_run).atomic(),
             ROW(ignore_store_read_error_with_cluster_breaking_potential));

}  // namespace koord::api
