// ConfigMap (v1).
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct ConfigMap {
  ObjectMeta metadata;
  StringMap data;
  StringMap binary_data;  // base64
  std::optional<bool> immutable;
  KOORD_STRUCT(ConfigMap);
};

}  // namespace koord::api
