// The schema table of koord/api/types/kube_scheduling_v1alpha2/pod_group.hpp: PodGroup.
#include "koord/api/types/kube_scheduling_v1alpha2/pod_group.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_OBJECT(EarlyKubePodGroup, Kind("scheduling.k8s.io/v1alpha2", "PodGroup", "podgroups"), ROW(metadata),
             ROW(spec));

}  // namespace koord::api
