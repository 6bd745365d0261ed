// Secret (v1).
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct Secret {
  ObjectMeta metadata;
  Symbol type;
  StringMap data;  // base64
  std::optional<bool> immutable;
  KOORD_STRUCT(Secret);
};

}  // namespace koord::api
