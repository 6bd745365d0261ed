// The schema tables of koord/api/types/policy_v1/eviction.hpp: Eviction.
#include "koord/api/types/policy_v1/eviction.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_OBJECT(Eviction, Kind("policy/v1", "Eviction", "evictions"), ROW(metadata), ROW(delete_options));

}  // namespace koord::api
