// The schema tables of koord/api/types/core_v1/binding.hpp: Binding.
#include "koord/api/types/core_v1/binding.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_OBJECT(Binding, Kind("v1", "Binding", "bindings"), ROW(metadata), ROW(target).required());

}  // namespace koord::api
