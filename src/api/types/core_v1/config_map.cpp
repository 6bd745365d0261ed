// The schema tables of koord/api/types/core_v1/config_map.hpp: ConfigMap.
#include "koord/api/types/core_v1/config_map.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_OBJECT(ConfigMap, Kind("v1", "ConfigMap", "configmaps"), ROW(metadata), ROW(data), ROW(binary_data),
             ROW(immutable));

}  // namespace koord::api
