// The schema tables of koord/api/types/core_v1/service.hpp: Service.
#include "koord/api/types/core_v1/service.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(ServiceSpec, ROW(selector), ROW(type));
KOORD_OBJECT(Service, Kind("v1", "Service", "services"), ROW(metadata), ROW(spec));

}  // namespace koord::api
