// Binding (v1).
#pragma once

#include "koord/api/types/core_v1/object_reference.hpp"
#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

/// Posted to a pod's binding subresource.
struct Binding {
  ObjectMeta metadata;
  ObjectReference target;
  KOORD_STRUCT(Binding);
};

}  // namespace koord::api
