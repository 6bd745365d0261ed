// storage.k8s.io/v1: CSINode, the CSI drivers of a node.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct VolumeNodeResources {
  std::optional<int32_t> count;  // absent: without limit
  KOORD_STRUCT(VolumeNodeResources);
};

struct CsiNodeDriver {
  Symbol name;
  std::string node_id;
  List<Symbol> topology_keys;
  Box<VolumeNodeResources> allocatable;
  KOORD_STRUCT(CsiNodeDriver);
};

struct CsiNodeSpec {
  List<CsiNodeDriver> drivers;
  KOORD_STRUCT(CsiNodeSpec);
};

struct CsiNode {
  ObjectMeta metadata;  // named as the node
  CsiNodeSpec spec;
  KOORD_STRUCT(CsiNode);
};

}  // namespace koord::api
