// The schema tables of koord/api/koordinator/drain.hpp.
#include "koord/api/koordinator/drain.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(DrainCordonLabels, ROW(drain_node), ROW(set), ROW(were));

}  // namespace koord::api
