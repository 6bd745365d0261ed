// storage.k8s.io/v1: CSIDriver, as far as it says what is asked of nodes.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct CsiDriverSpec {
  std::optional<bool> attach_required;
  std::optional<bool> storage_capacity;  // it says how much there is, in CSIStorageCapacity objects
  List<Symbol> volume_lifecycle_modes;
  KOORD_STRUCT(CsiDriverSpec);
};

struct CsiDriver {
  ObjectMeta metadata;
  CsiDriverSpec spec;
  KOORD_STRUCT(CsiDriver);
};

}  // namespace koord::api
