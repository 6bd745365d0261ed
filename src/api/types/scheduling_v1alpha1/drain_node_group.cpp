// The schema tables of koord/api/types/scheduling_v1alpha1/drain_node_group.hpp: DrainNodeGroup.
#include "koord/api/types/scheduling_v1alpha1/drain_node_group.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {
namespace {

constexpr std::string_view kShort[] = {"dng"};
constexpr PrinterColumn kColumns[] = {
    {"Phase", "string", ".status.phase", "The phase of DrainNodeGroup"},
    {"Age", "date", ".metadata.creationTimestamp"},
    {"TTL", "string", ".spec.ttl"},
    {"Nodes", "integer", ".status.totalCount"},
    {"Unavailable", "integer", ".status.unavailableCount"},
    {"Running", "integer", ".status.runningCount"},
    {"Succeeded", "integer", ".status.succeededCount"},
    {"Failed", "integer", ".status.failedCount"},
};

}  // namespace

KOORD_SCHEMA(DrainExecutionPolicy,
             ROW(partition).min(0).doc("How many of the nodes are drained by now; absent: all."),
             ROW(paused).doc("Whether no further node is let go."));
KOORD_SCHEMA(DrainTerminationPolicy, ROW(max_node_count).min(0).doc("No more nodes than these are planned."),
             ROW(percentage_of_resource_reserved)
                 .range(0, 100)
                 .doc("Of what the nodes have together: so much stays free on those that are not drained."));
KOORD_SCHEMA(DrainNodeGroupSpec,
             ROW(node_selector).doc("Which nodes. A group of all that are ready is refused."),
             ROW(ttl).doc("After which it is aborted, and deleted; absent or 0s: never."),
             ROW(cordon_node_policy).doc("How pods are kept from the nodes."),
             ROW(execution_policy).doc("How fast."), ROW(termination_policy).doc("How many nodes."));
KOORD_SCHEMA(DrainNodeGroupStatus,
             ROW(phase).doc("Pending, Planning, Waiting, Running, Succeeded, Failed or Aborted."),
             ROW(total_count).default_json("0").doc("Nodes that have been looked at."),
             ROW(unavailable_count).default_json("0").doc("Those of them whose pods have nowhere to go."),
             ROW(available_count).default_json("0").doc("The others."),
             ROW(running_count).default_json("0").doc("Those that are being drained."),
             ROW(succeeded_count).default_json("0").doc("Those that are drained."),
             ROW(failed_count).default_json("0").doc("Those that could not be."),
             ROW(conditions).doc("The phases so far."));
KOORD_OBJECT(DrainNodeGroup,
             Kind("scheduling.koordinator.sh/v1alpha1", "DrainNodeGroup", "drainnodegroups")
                 .cluster_scoped()
                 .shorts(kShort)
                 .custom_resource("Nodes that are to be drained together, and how far that is.")
                 .printed(kColumns),
             ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
