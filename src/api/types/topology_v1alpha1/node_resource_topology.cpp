// The schema tables of koord/api/types/topology_v1alpha1/node_resource_topology.hpp: NodeResourceTopology.
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {
namespace {

constexpr std::string_view kShorts[] = {"node-res-topo"};
constexpr std::string_view kDoc = "What each NUMA node of a node has.";

/// As it is stored; for the manifest alone.
struct StoredTopology {
  ObjectMeta metadata;
  std::vector<Symbol> topology_policies;
  std::vector<TopologyZone> zones;
  std::vector<TopologyAttribute> attributes;
  KOORD_STRUCT(StoredTopology);
};
KOORD_OBJECT(StoredTopology,
             Kind("topology.node.k8s.io/v1alpha2", "NodeResourceTopology", "noderesourcetopologies")
                 .cluster_scoped()
                 .custom_resource(kDoc)
                 .without_status(),
             ROW(metadata), ROW(topology_policies).doc("Deprecated: see attributes."), ROW(zones).required(),
             ROW(attributes));

}  // namespace

KOORD_SCHEMA(TopologyCost, ROW(name).required(), ROW(value).required());
KOORD_SCHEMA(TopologyAttribute, ROW(name).required(), ROW(value).required());
KOORD_SCHEMA(TopologyResource, ROW(name).required().doc("Name of the resource."),
             ROW(capacity).required().doc("What there is."),
             ROW(allocatable).required().doc("What pods may have."),
             ROW(available).required().doc("What pods may have and no pod has."));
KOORD_SCHEMA(TopologyZone, ROW(name).required(), ROW(type).required(), ROW(parent),
             ROW(costs).doc("Distances to other zones."), ROW(attributes), ROW(resources));
KOORD_OBJECT(NodeResourceTopology,
             Kind("topology.node.k8s.io/v1alpha1", "NodeResourceTopology", "noderesourcetopologies")
                 .cluster_scoped()
                 .custom_resource(kDoc)
                 .without_status()
                 .shorts(kShorts)
                 .approved("https://github.com/kubernetes/enhancements/pull/1870")
                 .stored_as(&StoredTopology::koord_schema),
             ROW(metadata), ROW(topology_policies).required(), ROW(zones).required());

}  // namespace koord::api
