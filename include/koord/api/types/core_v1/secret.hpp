// Secret (v1).
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct Secret {
  ObjectMeta metadata;
  Symbol type;
  StringMap data;  // base64
  std::optional<bool> immutable;

  friend bool operator==(const Secret&, const Secret&) = default;
};
KOORD_API_SCHEMA(Secret);

}  // namespace koord::api
