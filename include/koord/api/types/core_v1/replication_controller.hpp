// v1: ReplicationController, as far as its pods are found.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct ReplicationControllerSpec {
  std::optional<int32_t> replicas;
  SymbolMap selector;
  KOORD_STRUCT(ReplicationControllerSpec);
};

struct ReplicationController {
  ObjectMeta metadata;
  ReplicationControllerSpec spec;
  KOORD_STRUCT(ReplicationController);
};

}  // namespace koord::api
