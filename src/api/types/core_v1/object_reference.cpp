// The schema tables of koord/api/types/core_v1/object_reference.hpp: ObjectReference.
#include "koord/api/types/core_v1/object_reference.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(ObjectReference, ROW(kind), ROW(namespace_), ROW(name), ROW(uid), ROW(api_version),
             ROW(resource_version), ROW(field_path));

}  // namespace koord::api
