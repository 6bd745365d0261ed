// The schema tables of koord/api/types/coordination_v1/lease.hpp: Lease.
#include "koord/api/types/coordination_v1/lease.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(LeaseSpec, ROW(holder_identity), ROW(lease_duration_seconds), ROW(acquire_time), ROW(renew_time),
             ROW(lease_transitions), ROW(strategy), ROW(preferred_holder));
KOORD_OBJECT(Lease, Kind("coordination.k8s.io/v1", "Lease", "leases"), ROW(metadata), ROW(spec));

}  // namespace koord::api
