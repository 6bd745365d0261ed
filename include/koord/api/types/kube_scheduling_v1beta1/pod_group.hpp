// scheduling.k8s.io/v1beta1: PodGroup, Kubernetes' own gangs as 1.37 has them. The one of
// scheduling.sigs.k8s.io is another kind.
#pragma once

#include <string>
#include <vector>

#include "koord/api/types/kube_scheduling_v1alpha1/workload.hpp"

namespace koord::api {

struct KubePodGroupPolicy {
  Box<GangPolicy> gang;  // absent: the pods are placed one by one ("basic"). Its number may be changed.
  KOORD_STRUCT(KubePodGroupPolicy);
};

struct KubeTopologyConstraint {
  std::string key;  // of the node's label that the nodes of all pods agree on
  KOORD_STRUCT(KubeTopologyConstraint);
};

struct KubePodGroupConstraints {
  std::vector<KubeTopologyConstraint> topology;  // at most one
  KOORD_STRUCT(KubePodGroupConstraints);
};

struct KubePodGroupSpec {
  KubePodGroupPolicy scheduling_policy;
  Box<KubePodGroupConstraints> scheduling_constraints;
  KOORD_STRUCT(KubePodGroupSpec);
};

/// Its pods name it by spec.schedulingGroup.
struct KubePodGroup {
  ObjectMeta metadata;
  KubePodGroupSpec spec;
  KOORD_STRUCT(KubePodGroup);
};

}  // namespace koord::api
