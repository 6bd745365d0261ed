// storage.k8s.io/v1: CSIStorageCapacity, how much of a class is left where.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct CsiStorageCapacity {
  ObjectMeta metadata;
  Box<LabelSelector> node_topology;  // of nodes; absent: of none
  Symbol storage_class_name;
  std::optional<Quantity> capacity;
  std::optional<Quantity> maximum_volume_size;
  KOORD_STRUCT(CsiStorageCapacity);
};

}  // namespace koord::api
