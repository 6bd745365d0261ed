// topology.node.k8s.io/v1alpha1: NodeResourceTopology, what each NUMA node of a node has.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct TopologyCost {
  Symbol name;
  int64_t value = 0;
  KOORD_STRUCT(TopologyCost);
};

struct TopologyAttribute {
  Symbol name;
  std::string value;
  KOORD_STRUCT(TopologyAttribute);
};

struct TopologyResource {
  Symbol name;
  Quantity capacity;
  Quantity allocatable;
  Quantity available;  // allocatable without what pods have
  KOORD_STRUCT(TopologyResource);
};

struct TopologyZone {
  Symbol name;  // "node-0"
  Symbol type;  // Node
  Symbol parent;
  std::vector<TopologyCost> costs;
  std::vector<TopologyAttribute> attributes;
  std::vector<TopologyResource> resources;
  KOORD_STRUCT(TopologyZone);
};

/// Named as its node. Read and written as v1alpha1, which every version of its definition serves; v1alpha2 is
/// how newer ones store it, and has attributes beside the zones.
struct NodeResourceTopology {
  ObjectMeta metadata;
  std::vector<Symbol> topology_policies;
  std::vector<TopologyZone> zones;
  KOORD_STRUCT(NodeResourceTopology);
};

}  // namespace koord::api
