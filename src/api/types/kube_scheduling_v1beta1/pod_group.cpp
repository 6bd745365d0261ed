// The schema tables of koord/api/types/kube_scheduling_v1beta1/pod_group.hpp: PodGroup.
#include "koord/api/types/kube_scheduling_v1beta1/pod_group.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(KubePodGroupPolicy, ROW(gang));
KOORD_SCHEMA(KubeTopologyConstraint, ROW(key).required());
KOORD_SCHEMA(KubePodGroupConstraints, ROW(topology));
KOORD_SCHEMA(KubePodGroupSpec, ROW(scheduling_policy).required(), ROW(scheduling_constraints));
KOORD_OBJECT(KubePodGroup, Kind("scheduling.k8s.io/v1beta1", "PodGroup", "podgroups"), ROW(metadata),
             ROW(spec));

}  // namespace koord::api
