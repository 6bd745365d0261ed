// The schema tables of koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp: PodMigrationJob.
#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {
namespace {

constexpr std::string_view kShort[] = {"pmj"};
constexpr PrinterColumn kColumns[] = {
    {"Phase", "string", ".status.phase", "The phase of PodMigrationJob"},
    {"Status", "string", ".status.status", "The status of PodMigrationJob"},
    {"Age", "date", ".metadata.creationTimestamp"},
    {"Node", "string", ".status.nodeName"},
    {"Reservation", "string", ".spec.reservationOptions.reservationRef.name"},
    {"PodNamespace", "string", ".spec.podRef.namespace"},
    {"Pod", "string", ".spec.podRef.name"},
    {"NewPod", "string", ".status.podRef.name"},
    {"TTL", "string", ".spec.ttl"},
};

}  // namespace

KOORD_SCHEMA(PodMigrationPreemptionOptions);
KOORD_SCHEMA(
    PodMigrationReservationOptions,
    ROW(reservation_ref).doc("A Reservation that is there already; absent: the controller makes one."),
    ROW(template_).untyped().doc("Of the Reservation that is made: what is absent follows from the pod."),
    ROW(preemption_options).doc("Reserved."));
KOORD_SCHEMA(
    PodMigrationJobSpec, ROW(paused).doc("Whether the job waits until somebody lets it go on."),
    ROW(ttl).doc("How long the job may take; absent or 0s: for ever."),
    ROW(mode).doc("ReservationFirst makes room before the pod is evicted, EvictDirectly does not; absent: "
                  "the controller's default."),
    ROW(pod_ref).required().doc("The pod that is to move."),
    ROW(reservation_options).doc("Of the room that is made for it."),
    ROW(delete_options).doc("How the pod is ended."));
KOORD_SCHEMA(PodMigrationJobCondition, ROW(type).required(), ROW(status).required(),
             ROW(last_probe_time).nullable(), ROW(last_transition_time).nullable(), ROW(reason),
             ROW(message));
KOORD_SCHEMA(PodMigrationPreemptedReservation, ROW(namespace_), ROW(name), ROW(node_name), ROW(phase),
             ROW(preempted_pod_ref), ROW(pods_ref));
KOORD_SCHEMA(PodMigrationJobStatus, ROW(phase).doc("Pending, Running, Succeeded, Failed or Aborted."),
             ROW(status).doc("The condition that was set last, or Complete."),
             ROW(reason).doc("Why it is in this phase, in one word."),
             ROW(message).doc("The same for people."), ROW(conditions).doc("What has been reached."),
             ROW(node_name).doc("Where there is room for the pod."),
             ROW(pod_ref).doc("The pod that has come in its place."),
             ROW(preempted_pods_ref).doc("Pods that had to go for it."),
             ROW(preempted_pods_reservation).doc("Room that was kept for these."));
KOORD_OBJECT(PodMigrationJob,
             Kind("scheduling.koordinator.sh/v1alpha1", "PodMigrationJob", "podmigrationjobs")
                 .cluster_scoped()
                 .shorts(kShort)
                 .custom_resource("A pod that is to move to another node, and how far that is.")
                 .printed(kColumns),
             ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
