// The schema tables of koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp: PodGroup.
#include "koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(PodGroupSpec, ROW(min_member).doc("So many of its pods are placed together, or none."),
             ROW(min_resources).doc("What they need at least; nobody reads it."),
             ROW(schedule_timeout_seconds).doc("How long its pods wait for one another."));
KOORD_SCHEMA(PodGroupStatus,
             ROW(phase).doc("Pending, PreScheduling, Scheduling, Scheduled, Running, Finished or Failed."),
             ROW(occupied_by).doc("Whose pods they are, as namespace/name, by commas."),
             ROW(scheduled).doc("How many pods have a node."), ROW(running).doc("How many run."),
             ROW(succeeded).doc("How many have succeeded."), ROW(failed).doc("How many have failed."),
             ROW(schedule_start_time).doc("When the first of them was tried."));
KOORD_OBJECT(PodGroup,
             Kind("scheduling.sigs.k8s.io/v1alpha1", "PodGroup", "podgroups")
                 .custom_resource("Pods that are placed together or not at all.")
                 .without_status()
                 .approved("https://github.com/kubernetes-sigs/scheduler-plugins/pull/52"),
             ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
