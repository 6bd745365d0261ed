// The schema tables of koord/api/types/meta_v1/status.hpp: Status.
#include "koord/api/types/meta_v1/status.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(StatusCause, ROW(reason), ROW(message), ROW(field));
KOORD_SCHEMA(StatusDetails, ROW(name), ROW(group), ROW(kind), ROW(uid), ROW(causes),
             ROW(retry_after_seconds));
KOORD_OBJECT(Status, Kind("v1", "Status"), ROW(metadata), ROW(status), ROW(message), ROW(reason),
             ROW(details), ROW(code));

}  // namespace koord::api
