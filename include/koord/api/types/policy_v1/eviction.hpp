// policy/v1: Eviction.
#pragma once

#include "koord/api/types/meta_v1/delete_options.hpp"
#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

/// Posted to a pod's eviction subresource.
struct Eviction {
  ObjectMeta metadata;
  Box<DeleteOptions> delete_options;
  KOORD_STRUCT(Eviction);
};

}  // namespace koord::api
