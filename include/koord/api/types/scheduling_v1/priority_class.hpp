// scheduling.k8s.io/v1: PriorityClass.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct PriorityClass {
  ObjectMeta metadata;
  int32_t value = 0;
  bool global_default = false;
  std::string description;
  Symbol preemption_policy;
  KOORD_STRUCT(PriorityClass);
};

}  // namespace koord::api
