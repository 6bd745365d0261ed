// The schema tables of koord/api/types/scheduling_v1alpha1/drain_node.hpp: DrainNode.
#include "koord/api/types/scheduling_v1alpha1/drain_node.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {
namespace {

constexpr std::string_view kShort[] = {"dn"};
constexpr std::string_view kCordonModes[] = {"Taint", "Label"};
constexpr std::string_view kModes[] = {"WaitFirst", "MigrateDirectly"};
constexpr std::string_view kJobModes[] = {"ReservationFirst", "EvictDirectly"};
constexpr std::string_view kConfirmStates[] = {"WaitForConfirm", "Confirmed", "Rejected", "Aborted"};
constexpr PrinterColumn kColumns[] = {
    {"Phase", "string", ".status.phase", "The phase of DrainNode"},
    {"Age", "date", ".metadata.creationTimestamp"},
    {"TTL", "string", ".spec.ttl"},
    {"Node", "string", ".spec.nodeName"},
    {"Confirm", "string", ".spec.confirmState"},
    {"Waiting", "integer", ".status.pogMigrationSummary.Waiting"},
    {"Available", "integer", ".status.pogMigrationSummary.Available"},
    {"Migrating", "integer", ".status.pogMigrationSummary.Migrating"},
    {"Succeed", "integer", ".status.pogMigrationSummary.Succeed"},
    {"Failed", "integer", ".status.pogMigrationSummary.Failed"},
    {"Unmigratable", "integer", ".status.pogMigrationSummary.Unmigratable", {}, {}, 1},
    {"Unavailable", "integer", ".status.pogMigrationSummary.Unavailable", {}, {}, 1},
};

}  // namespace

KOORD_SCHEMA(CordonNodePolicy,
             ROW(mode)
                 .one_of(kCordonModes)
                 .doc("Taint keeps all pods away that do not tolerate it, Label is "
                      "for whoever looks at the labels."),
             ROW(labels).doc("Of the mode Label."));
KOORD_SCHEMA(DrainMigrationPolicy,
             ROW(mode).one_of(kModes).doc("WaitFirst lets pods end by themselves at first; MigrateDirectly "
                                          "does not."),
             ROW(wait_duration).doc("How long WaitFirst waits; absent: 1h."),
             ROW(job_mode).one_of(kJobModes).doc(
                 "ReservationFirst makes room before pods are evicted, EvictDirectly does not."));
KOORD_SCHEMA(DrainNodeSpec, ROW(node_name).required().doc("The node."),
             ROW(ttl).doc("After which it is aborted, and deleted; absent or 0s: never."),
             ROW(cordon_policy).doc("How pods are kept from the node."),
             ROW(migration_policy).doc("How its pods move."),
             ROW(confirm_state)
                 .one_of(kConfirmStates)
                 .doc("Pods move once it is Confirmed; until then there is room made for them."));
KOORD_SCHEMA(DrainNodeCondition, ROW(type).required(), ROW(status).required(),
             ROW(last_probe_time).nullable(), ROW(last_transition_time).nullable(), ROW(reason),
             ROW(message));
KOORD_SCHEMA(PodMigration, ROW(pod_uid).wire("uid"), ROW(namespace_), ROW(pod_name),
             ROW(phase).doc("Unmigratable, Waiting, Ready, Available, Unavailable, Migrating, Succeed or "
                            "Failed."),
             ROW(start_timestamp).nullable(),
             ROW(charted_after_drain_node_confirmed)
                 .doc("Whether the pod came to the node after the drain had been confirmed."),
             ROW(reservation_name).doc("The room that is made for it."), ROW(reservation_phase),
             ROW(target_node).doc("Where that is."), ROW(pod_migration_job_name),
             ROW(pod_migration_job_paused), ROW(pod_migration_job_phase));
KOORD_SCHEMA(DrainNodeStatus, ROW(phase).doc("Pending, Running, Complete or Aborted."),
             ROW(pod_migrations).wire("pogMigrations").doc("The node's pods, and how far they are."),
             ROW(pod_migration_summary).wire("pogMigrationSummary").doc("How many pods are in each phase."),
             ROW(conditions).doc("What is in the way."));
KOORD_OBJECT(DrainNode,
             Kind("scheduling.koordinator.sh/v1alpha1", "DrainNode", "drainnodes")
                 .cluster_scoped()
                 .shorts(kShort)
                 .custom_resource("A node whose pods are to move to others, and how far that is.")
                 .printed(kColumns),
             ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
