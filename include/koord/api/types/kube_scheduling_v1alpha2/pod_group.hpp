// scheduling.k8s.io/v1alpha2: PodGroup, Kubernetes' own gangs as 1.36 has them: what koord reads of one is
// what it reads of v1beta1's.
#pragma once

#include "koord/api/types/kube_scheduling_v1beta1/pod_group.hpp"

namespace koord::api {

/// Nothing of its spec can be changed. Its pods name it by spec.schedulingGroup.
struct EarlyKubePodGroup {
  ObjectMeta metadata;
  KubePodGroupSpec spec;
  KOORD_STRUCT(EarlyKubePodGroup);
};

}  // namespace koord::api
