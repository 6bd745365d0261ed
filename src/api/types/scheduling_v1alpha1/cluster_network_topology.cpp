// The schema tables of koord/api/types/scheduling_v1alpha1/cluster_network_topology.hpp.
#include "koord/api/types/scheduling_v1alpha1/cluster_network_topology.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(NetworkTopologyLayer, ROW(topology_layer).required().doc("Name of the layer."),
             ROW(parent_topology_layer).doc("Layer whose domains this layer's lie in."),
             ROW(label_key).doc("Labels of nodes that name the domain; the first that a node has counts."));
KOORD_SCHEMA(ClusterNetworkTopologySpec, ROW(network_topology_spec).required());
KOORD_SCHEMA(TopologyInfo, ROW(topology_layer).required(), ROW(topology_name).required());
KOORD_SCHEMA(ClusterNetworkTopologyDetail, ROW(topology_info).required(), ROW(parent_topology_info),
             ROW(child_topology_layer), ROW(child_topology_names).doc("Sorted; none if they are nodes."),
             ROW(node_num).required().doc("How many nodes lie in it."));
KOORD_SCHEMA(ClusterNetworkTopologyStatus, ROW(detail_status).doc("The domains, parents first."));
KOORD_OBJECT(
    ClusterNetworkTopology,
    Kind("scheduling.koordinator.sh/v1alpha1", "ClusterNetworkTopology", "clusternetworktopologies")
        .cluster_scoped()
        .custom_resource("How the nodes of the cluster hang together; the one named default counts."),
    ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
