// The schema tables of koord/api/types/kube_scheduling_v1alpha1/workload.hpp: Workload.
#include "koord/api/types/kube_scheduling_v1alpha1/workload.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(GangPolicy, ROW(min_count).required());
KOORD_SCHEMA(WorkloadPodGroupPolicy, ROW(gang));
KOORD_SCHEMA(WorkloadPodGroup, ROW(name).required(), ROW(policy).required());
KOORD_SCHEMA(WorkloadSpec, ROW(pod_groups).required());
KOORD_OBJECT(Workload, Kind("scheduling.k8s.io/v1alpha1", "Workload", "workloads"), ROW(metadata), ROW(spec));

}  // namespace koord::api
