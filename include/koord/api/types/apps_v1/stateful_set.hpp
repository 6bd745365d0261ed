// apps/v1: StatefulSet, as far as its pods are found.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct StatefulSetSpec {
  std::optional<int32_t> replicas;
  LabelSelector selector;
  KOORD_STRUCT(StatefulSetSpec);
};

struct StatefulSet {
  ObjectMeta metadata;
  StatefulSetSpec spec;
  KOORD_STRUCT(StatefulSet);
};

}  // namespace koord::api
