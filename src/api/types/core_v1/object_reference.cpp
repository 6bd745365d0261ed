// The schema tables of koord/api/types/core_v1/object_reference.hpp: ObjectReference.
#include "koord/api/types/core_v1/object_reference.hpp"

#include <cstddef>

namespace koord::api {

template <>
const Schema& schema<ObjectReference>() {
  using T = ObjectReference;
  static constexpr Field kRows[] = {
      KOORD_FIELD(kind, "kind"),
      KOORD_FIELD(namespace_, "namespace"),
      KOORD_FIELD(name, "name"),
      KOORD_FIELD(uid, "uid"),
      KOORD_FIELD(api_version, "apiVersion"),
      KOORD_FIELD(resource_version, "resourceVersion"),
      KOORD_FIELD(field_path, "fieldPath"),
  };
  static const Schema kSchema("ObjectReference", kRows, type_of<T>);
  return kSchema;
}

}  // namespace koord::api
