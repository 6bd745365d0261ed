// The schema tables of koord/api/types/core_v1/secret.hpp: Secret.
#include "koord/api/types/core_v1/secret.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_OBJECT(Secret, Kind("v1", "Secret", "secrets"), ROW(metadata), ROW(type), ROW(data), ROW(immutable));

}  // namespace koord::api
