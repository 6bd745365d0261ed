// storage.k8s.io/v1: StorageClass.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct TopologySelectorLabelRequirement {
  Symbol key;
  List<Symbol> values;
  KOORD_STRUCT(TopologySelectorLabelRequirement);
};

struct TopologySelectorTerm {
  List<TopologySelectorLabelRequirement> match_label_expressions;
  KOORD_STRUCT(TopologySelectorTerm);
};

struct StorageClass {
  ObjectMeta metadata;
  Symbol provisioner;
  FlatMap<std::string> parameters;
  Symbol reclaim_policy;
  std::optional<bool> allow_volume_expansion;
  std::optional<Symbol> volume_binding_mode;  // Immediate, WaitForFirstConsumer
  List<TopologySelectorTerm> allowed_topologies;
  KOORD_STRUCT(StorageClass);
};

}  // namespace koord::api
